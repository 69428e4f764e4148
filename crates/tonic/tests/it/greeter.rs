//! tonic's helloworld over Headway, and the failures of a unary call.
#![allow(unsafe_code, reason = "fork, and the end of a child")]

use crate::code::helloworld::greeter_client::GreeterClient;
use crate::code::helloworld::greeter_server::{Greeter, GreeterServer};
use crate::messages::helloworld::{HelloReply, HelloRequest};
use headway_host::tokio::Endpoint;
use headway_host::{CallError, Config, Forked, Limits, RecvError, SendError};
use headway_tonic::{Channel, ConnectError, Peer, ServeError, Server};
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::{Code, Request, Response, Status};

const LONG: Duration = Duration::from_secs(60);

/// Greets; some names ask for something else.
#[derive(Default)]
struct MyGreeter;

#[tonic::async_trait]
impl Greeter for MyGreeter {
    async fn say_hello(&self, request: Request<HelloRequest>) -> Result<Response<HelloReply>, Status> {
        let Peer(peer) = *request.extensions().get::<Peer>().expect("somebody called");
        assert!(peer.ip().is_loopback());
        let shout = request.metadata().get("x-shout").cloned();
        let binary = request.metadata().get_bin("x-trace-bin").cloned();
        let name = request.into_inner().name;
        match name.as_str() {
            "nobody" => {
                let mut status =
                    Status::with_details(Code::NotFound, "who?  ünknown", vec![0, 159, 7].into());
                status.metadata_mut().insert("x-why", "a reason".parse().expect("a value"));
                return Err(status);
            }
            "sleeper" => tokio::time::sleep(LONG).await,
            // Above the 10,000 bytes that one of the tests allows for a message.
            "talker" => return Ok(Response::new(HelloReply { message: "x".repeat(20_000) })),
            _ => {}
        }
        let message = if shout.is_some() { format!("HELLO {name}!") } else { format!("Hello {name}!") };
        let mut response = Response::new(HelloReply { message });
        if let Some(binary) = binary {
            response.metadata_mut().insert_bin("x-trace-bin", binary);
        }
        Ok(response)
    }
}

/// A server on its own task.
struct Running {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    fn start_server(server: Server, config: Config) -> Running {
        let endpoint = Endpoint::bind("127.0.0.1:0", config).expect("bound");
        let address = endpoint.local_addr();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let signal = async { drop(stopped.await) };
            server.serve_endpoint(&endpoint, signal).await.expect("a socket that works");
        });
        Running { address, stop, task }
    }

    fn start_greeter() -> Running {
        Running::start_server(Server::builder().add_service(GreeterServer::new(MyGreeter)), Config::default())
    }

    fn new_client(&self) -> GreeterClient<Channel> {
        GreeterClient::new(Channel::connect(&self.address.to_string()).expect("a channel"))
    }

    async fn stop_server(self) {
        self.stop.send(()).expect("it runs");
        tokio::time::timeout(LONG, self.task).await.expect("in time").expect("no panic");
    }
}

fn hello_request(name: impl Into<String>) -> HelloRequest {
    HelloRequest { name: name.into() }
}

#[tokio::test]
async fn hello_world() {
    let server = Running::start_greeter();
    let mut client = server.new_client();
    let reply = client.say_hello(hello_request("Tonic")).await.expect("a reply").into_inner();
    assert_eq!(reply.message, "Hello Tonic!");
    // Many at a time, of every length up to some packets, over one channel.
    let calls = (0..200_usize).map(|n| {
        let mut client = client.clone();
        tokio::spawn(async move {
            // Lengths up to 39,601 bytes: less than a packet, and up to 29 of them.
            let name = "x".repeat(n * n);
            let reply = client.say_hello(hello_request(name.clone())).await.expect("a reply").into_inner();
            assert_eq!(reply.message, format!("Hello {name}!"));
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.expect("the reply is right");
    }
    server.stop_server().await;
}

#[tokio::test]
async fn metadata_details_and_deadlines_are_those_of_grpc() {
    let server = Running::start_greeter();
    let mut client = server.new_client();
    let mut request = Request::new(hello_request("you"));
    request.metadata_mut().insert("x-shout", "yes".parse().expect("a value"));
    let trace = tonic::metadata::MetadataValue::from_bytes(&[0, 255, 10]);
    request.metadata_mut().insert_bin("x-trace-bin", trace.clone());
    let response = client.say_hello(request).await.expect("a reply");
    assert_eq!(response.metadata().get_bin("x-trace-bin"), Some(&trace));
    assert_eq!(response.into_inner().message, "HELLO you!");

    let status = client.say_hello(hello_request("nobody")).await.expect_err("a status");
    assert_eq!((status.code(), status.message()), (Code::NotFound, "who?  ünknown"));
    assert_eq!(status.details(), [0, 159, 7]);
    assert_eq!(status.metadata().get("x-why").expect("a reason"), "a reason");

    let mut request = Request::new(hello_request("sleeper"));
    request.set_timeout(Duration::from_millis(50));
    let status = client.say_hello(request).await.expect_err("nobody waits for a minute");
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
    // The server has given the call up too, and stops at once.
    tokio::time::timeout(LONG / 2, server.stop_server()).await.expect("in time");
}

#[tokio::test]
async fn calls_at_once_are_answered_and_then_the_server_stops() {
    let server = Running::start_greeter();
    let client = server.new_client();
    let calls: Vec<_> = (0..20)
        .map(|n| {
            let mut client = client.clone();
            tokio::spawn(async move { client.say_hello(hello_request(format!("{n}"))).await.map(|_| ()) })
        })
        .collect();
    for call in calls {
        call.await.expect("no panic").expect("a reply");
    }
    server.stop_server().await;
}

fn client_endpoint(server: &Running) -> Channel {
    Channel::connect(&server.address.to_string()).expect("a channel")
}

#[tokio::test]
async fn interceptors_work_on_both_sides() {
    let guarded = GreeterServer::with_interceptor(MyGreeter, |request: Request<()>| {
        match request.metadata().get("authorization") {
            Some(token) if token == "Bearer me" => Ok(request),
            _ => Err(Status::unauthenticated("who are you?")),
        }
    });
    let server = Running::start_server(Server::builder().add_service(guarded), Config::default());
    let status = server.new_client().say_hello(hello_request("you")).await.expect_err("nobody");
    assert_eq!((status.code(), status.message()), (Code::Unauthenticated, "who are you?"));
    let mut client = GreeterClient::with_interceptor(client_endpoint(&server), |mut request: Request<()>| {
        request.metadata_mut().insert("authorization", "Bearer me".parse().expect("a value"));
        Ok(request)
    });
    assert_eq!(
        client.say_hello(hello_request("you")).await.expect("a reply").into_inner().message,
        "Hello you!"
    );
    server.stop_server().await;
}

#[tokio::test]
async fn what_goes_wrong_has_the_status_of_grpc() {
    let config = || Config {
        limits: Limits { message_bytes: 10_000, ..Limits::default() },
        peer_timeout: headway_units::Time::ms(200),
        ..Config::default()
    };
    let server = Running::start_server(Server::builder(), config());
    let status = server.new_client().say_hello(hello_request("you")).await.expect_err("no service");
    assert_eq!(status.code(), Code::Unimplemented);
    assert_eq!(status.message(), "/helloworld.Greeter/SayHello: there is no such service");
    server.stop_server().await;

    let service = Server::builder().add_service(GreeterServer::new(MyGreeter));
    let server = Running::start_server(service, config());
    let address = server.address.to_string();
    let mut client = GreeterClient::new(Channel::connect_with(&address, config()).expect("a channel"));
    let status = client.say_hello(hello_request("x".repeat(20_000))).await.expect_err("too long");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    let source = status.source().and_then(|source| source.downcast_ref::<CallError>());
    assert!(matches!(source, Some(CallError::Send(_))), "{status:?}");
    // The request fits, and its reply does not.
    let status = client.say_hello(hello_request("talker")).await.expect_err("too long");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    assert!(status.message().contains("the reply:"), "{status}");

    let other = Config { transport: "homa".into(), ..config() };
    let mut stranger = GreeterClient::new(Channel::connect_with(&address, other).expect("a channel"));
    let status = stranger.say_hello(hello_request("you")).await.expect_err("another transport");
    assert_eq!(status.code(), Code::Unavailable);
    assert!(status.message().contains("the peer speaks `amrt`"), "{status}");
    server.stop_server().await;

    let status = client.say_hello(hello_request("you")).await.expect_err("nobody is there");
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    let patient = Channel::connect(&address).expect("a channel").timeout(Duration::from_millis(20));
    let status =
        GreeterClient::new(patient).say_hello(hello_request("you")).await.expect_err("nobody is there");
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");

    assert!(matches!(Channel::connect("localhost"), Err(ConnectError::Address(_))));
    assert!(matches!(Channel::connect("8.8.8.8:1"), Err(ConnectError::Bind(_))));
    let refused = Server::builder().serve("0.0.0.0:0".parse().expect("an address")).await;
    assert!(matches!(refused, Err(ServeError::Bind(_))));
}

#[tokio::test]
async fn messages_that_are_no_calls_do_no_harm() {
    let server = Running::start_greeter();
    let endpoint = Arc::new(Endpoint::bind("127.0.0.1:0", Config::default()).expect("bound"));
    endpoint.send(server.address, "a message").await.expect("taken");
    // Nothing, a version alone, another version, more headers than there are, and a path that does not name a method.
    for bytes in [&b""[..], b"\x01", b"\x02whatever", b"\x01\0\x01/\xff\xff", b"\x01\0\x01?\0\0"] {
        let reply = endpoint.call(server.address, bytes).await.expect("a reply");
        // The version, and then a status of HTTP.
        assert_eq!(&reply[..3], [1, 0, 200], "{bytes:?}");
    }
    // The same endpoint serves as a channel.
    let mut client = GreeterClient::new(Channel::new(endpoint, server.address));
    assert_eq!(
        client.say_hello(hello_request("you")).await.expect("a reply").into_inner().message,
        "Hello you!"
    );
    server.stop_server().await;
}

#[test]
fn a_forked_child_has_the_status_of_it() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    // Port 9 is never answered; in the child nothing may be sent to it anyway.
    let mut client = GreeterClient::new(Channel::connect("127.0.0.1:9").expect("a channel"));
    let endpoint = Endpoint::bind("127.0.0.1:0", Config::default()).expect("bound");
    // SAFETY: the child makes one call and ends, without anything of the other threads.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let status = runtime().block_on(client.say_hello(hello_request("you"))).expect_err("forked");
            assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
            let source = status.source().and_then(|source| source.downcast_ref::<CallError>());
            assert_eq!(source, Some(&CallError::Send(SendError::Forked(Forked))));
            let served =
                runtime().block_on(Server::builder().serve_endpoint(&endpoint, std::future::pending()));
            assert_eq!(served, Err(RecvError::Forked(Forked)));
        }));
        // SAFETY: takes no pointers, and does not return.
        unsafe { libc::_exit(told.is_err().into()) };
    }
    let mut status = -1;
    // SAFETY: the child is this process's own.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child failed: what it printed says where");
}
