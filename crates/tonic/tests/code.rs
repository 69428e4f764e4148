//! The committed code of the tests' services is what tonic makes of their description; a program of its own, which compiles
//! whatever that code is.
#![allow(clippy::disallowed_methods, reason = "reads and writes files of generated code")]

use std::path::Path;
use tonic_build::manual::{Builder, Method, Service};

/// A call of a service: its name, its name on the wire, whether it streams each way, and the messages.
type Call = (&'static str, &'static str, (bool, bool), &'static str, &'static str);

/// The services of tonic's own examples: helloworld, and the route guide of gRPC's tutorial.
const SERVICES: [(&str, &str, &[Call]); 2] = [
    ("helloworld", "Greeter", &[("say_hello", "SayHello", (false, false), "HelloRequest", "HelloReply")]),
    (
        "routeguide",
        "RouteGuide",
        &[
            ("get_feature", "GetFeature", (false, false), "Point", "Feature"),
            ("list_features", "ListFeatures", (false, true), "Rectangle", "Feature"),
            ("record_route", "RecordRoute", (true, false), "Point", "RouteSummary"),
            ("route_chat", "RouteChat", (true, true), "RouteNote", "RouteNote"),
        ],
    ),
];

#[test]
fn the_committed_code_is_that_of_the_services() {
    let fresh = std::env::temp_dir().join(format!("headway-tonic-{}", std::process::id()));
    std::fs::create_dir_all(&fresh).expect("a folder");
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/generated");
    for (package, name, calls) in SERVICES {
        let mut service = Service::builder().name(name).package(package);
        for (call, route, (client, server), input, output) in calls {
            let message = |name: &str| format!("crate::messages::{package}::{name}");
            let mut method = Method::builder()
                .name(call)
                .route_name(route)
                .input_type(message(input))
                .output_type(message(output))
                .codec_path("tonic_prost::ProstCodec");
            if *client {
                method = method.client_streaming();
            }
            if *server {
                method = method.server_streaming();
            }
            service = service.method(method.build());
        }
        Builder::new().build_transport(false).out_dir(&fresh).compile(&[service.build()]);
        let file = format!("{package}.{name}.rs");
        let code = std::fs::read_to_string(fresh.join(&file)).expect("code");
        let path = committed.join(format!("{package}.generated"));
        if std::env::var_os("HEADWAY_BLESS").is_some() {
            std::fs::write(&path, &code).expect("the code");
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == code,
            "HEADWAY_BLESS=1 cargo test -p headway-tonic --test code writes {}",
            path.display()
        );
    }
    std::fs::remove_dir_all(&fresh).expect("removed");
}
