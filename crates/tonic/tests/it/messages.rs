//! The messages of the tests' services, as `prost` makes them of a .proto file.

/// Messages of tonic's helloworld.
pub(crate) mod helloworld {
    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct HelloRequest {
        #[prost(string, tag = "1")]
        pub(crate) name: String,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct HelloReply {
        #[prost(string, tag = "1")]
        pub(crate) message: String,
    }
}

/// Messages of the route guide of gRPC's tutorial. Degrees are times 10,000,000.
pub(crate) mod routeguide {
    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub(crate) struct Point {
        #[prost(int32, tag = "1")]
        pub(crate) latitude: i32,
        #[prost(int32, tag = "2")]
        pub(crate) longitude: i32,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub(crate) struct Rectangle {
        #[prost(message, optional, tag = "1")]
        pub(crate) lo: Option<Point>,
        #[prost(message, optional, tag = "2")]
        pub(crate) hi: Option<Point>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct Feature {
        #[prost(string, tag = "1")]
        pub(crate) name: String,
        #[prost(message, optional, tag = "2")]
        pub(crate) location: Option<Point>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct RouteNote {
        #[prost(message, optional, tag = "1")]
        pub(crate) location: Option<Point>,
        #[prost(string, tag = "2")]
        pub(crate) message: String,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub(crate) struct RouteSummary {
        #[prost(int32, tag = "1")]
        pub(crate) point_count: i32,
        #[prost(int32, tag = "2")]
        pub(crate) feature_count: i32,
        #[prost(int32, tag = "3")]
        pub(crate) distance: i32,
        #[prost(int32, tag = "4")]
        pub(crate) elapsed_time: i32,
    }
}
