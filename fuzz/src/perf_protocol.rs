//! Properties of `headway-perf serve`, whatever a client sends. The fuzz target and the test that replays the
//! corpus run this same function.

use headway_perf::frames::Frames;
use headway_perf::protocol::{Answer, LARGEST, Order};
use headway_perf::service::{MOST, Service};

/// Panics when a server breaks a rule with a connection on which `bytes` arrive.
pub fn check(bytes: &[u8]) {
    codec(bytes);
    let service = Service::default();
    let mut frames = Frames::new(bytes, Vec::new());
    let mut answered = 0;
    while let Ok(Some(message)) = frames.read_message() {
        assert!(message.len() <= bytes.len(), "no more than arrived");
        codec(message);
        let Some(answer) = service.handle_order(message) else {
            assert!(
                matches!(Order::from_message(message), Some(Order::Data { .. })),
                "all but data is answered"
            );
            continue;
        };
        assert!(Answer::from_message(&answer).is_some() && answer.len() <= LARGEST as usize);
        assert!(service.run_count() <= MOST);
        answered += answer.len();
        if answered > 4 * LARGEST as usize {
            break;
        }
        frames.write_message(&answer).expect("to memory");
    }
}

/// A message that parses is written the same way again.
fn codec(bytes: &[u8]) {
    if let Some(order) = Order::from_message(bytes) {
        assert_eq!(Order::from_message(&order.to_message(bytes.len())), Some(order));
        assert_eq!(order.to_message(0)[..], bytes[..9], "its front is all that it says");
    }
    if let Some(answer) = Answer::from_message(bytes) {
        assert_eq!(Answer::from_message(&answer.to_message(bytes.len())), Some(answer));
        assert!(answer == Answer::Echo || answer.to_message(0) == bytes);
    }
}
