//! The unary call of gRPC's route guide over Headway; and calls that stream, which have a clear status.

use crate::code::routeguide::route_guide_client::RouteGuideClient;
use crate::code::routeguide::route_guide_server::{RouteGuide, RouteGuideServer};
use crate::messages::routeguide::{Feature, Point, Rectangle, RouteNote, RouteSummary};
use headway_host::Config;
use headway_host::tokio::Endpoint;
use headway_tonic::{Channel, Server};
use std::pin::Pin;
use tokio_stream::{Stream, StreamExt};
use tonic::{Code, Request, Response, Status, Streaming};

/// Two places of the tutorial's.
const FEATURES: [(&str, i32, i32); 2] = [
    ("Patriots Path, Mendham, NJ 07945, USA", 407_838_351, -746_143_763),
    ("101 New Jersey 10, Whippany, NJ 07981, USA", 408_122_808, -743_999_179),
];

struct Guide;

fn all_features() -> impl Iterator<Item = Feature> {
    FEATURES.into_iter().map(|(name, latitude, longitude)| Feature {
        name: name.into(),
        location: Some(Point { latitude, longitude }),
    })
}

type Reply<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl RouteGuide for Guide {
    type ListFeaturesStream = Reply<Feature>;
    type RouteChatStream = Reply<RouteNote>;

    async fn get_feature(&self, request: Request<Point>) -> Result<Response<Feature>, Status> {
        let point = request.into_inner();
        let found = all_features().find(|feature| feature.location.as_ref() == Some(&point));
        Ok(Response::new(found.unwrap_or(Feature { name: String::new(), location: Some(point) })))
    }

    async fn list_features(&self, _: Request<Rectangle>) -> Result<Response<Reply<Feature>>, Status> {
        Ok(Response::new(Box::pin(tokio_stream::iter(all_features().map(Ok)))))
    }

    async fn record_route(
        &self,
        request: Request<Streaming<Point>>,
    ) -> Result<Response<RouteSummary>, Status> {
        let mut points = request.into_inner();
        let mut summary = RouteSummary::default();
        while let Some(point) = points.next().await {
            point?;
            summary.point_count += 1;
        }
        Ok(Response::new(summary))
    }

    async fn route_chat(
        &self,
        request: Request<Streaming<RouteNote>>,
    ) -> Result<Response<Reply<RouteNote>>, Status> {
        Ok(Response::new(Box::pin(request.into_inner())))
    }
}

/// A client of a server that ends with the test.
fn guide_client() -> RouteGuideClient<Channel> {
    let endpoint = Endpoint::bind("127.0.0.1:0", Config::default()).expect("bound");
    let address = endpoint.local_addr().to_string();
    let server = Server::builder().add_service(RouteGuideServer::new(Guide));
    tokio::spawn(async move { server.serve_endpoint(&endpoint, std::future::pending()).await });
    RouteGuideClient::new(Channel::connect(&address).expect("a channel"))
}

#[tokio::test]
async fn features_are_found() {
    let mut client = guide_client();
    for (name, latitude, longitude) in FEATURES {
        let point = Point { latitude, longitude };
        let feature = client.get_feature(point).await.expect("a reply").into_inner();
        assert_eq!((feature.name.as_str(), feature.location), (name, Some(point)));
    }
    let nothing =
        client.get_feature(Point { latitude: 1, longitude: 2 }).await.expect("a reply").into_inner();
    assert_eq!(nothing.name, "");
}

fn assert_streams<T: std::fmt::Debug>(answer: Result<Response<T>, Status>, path: &str) {
    let status = answer.expect_err("it streams");
    assert_eq!(status.code(), Code::Unimplemented, "{status}");
    assert_eq!(
        status.message(),
        format!("/routeguide.RouteGuide/{path}: Headway carries unary calls, and this one streams")
    );
}

#[tokio::test]
async fn calls_that_stream_are_unimplemented() {
    let mut client = guide_client();
    assert_streams(client.list_features(Rectangle::default()).await, "ListFeatures");
    let points = || [Point::default(); 3];
    assert_streams(client.record_route(tokio_stream::iter(points())).await, "RecordRoute");
    // Nothing of the stream is there yet, and nothing ever comes.
    assert_streams(client.record_route(tokio_stream::pending()).await, "RecordRoute");
    // No message at all is not a unary call either.
    assert_streams(client.record_route(tokio_stream::empty()).await, "RecordRoute");
    assert_streams(client.route_chat(tokio_stream::pending()).await, "RouteChat");
    // One message is there, as in a unary call, but the stream does not end.
    let then_nothing = tokio_stream::iter([RouteNote::default()]).chain(tokio_stream::pending());
    assert_streams(client.route_chat(then_nothing).await, "RouteChat");
}

#[tokio::test]
async fn a_stream_of_one_message_that_is_there_is_a_unary_call() {
    let summary = guide_client().record_route(tokio_stream::iter([Point::default()])).await.expect("a reply");
    assert_eq!(summary.into_inner().point_count, 1);
}
