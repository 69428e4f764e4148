//! Bodies: of a stream of frames the one message of a unary call, and the other way round.

use bytes::{Buf, Bytes, BytesMut};
use http::HeaderMap;
use http_body::{Body, Frame};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use tonic::Status;

/// Bytes in front of a message of gRPC: whether it is compressed, and its length.
const PREFIX: usize = 5;

/// A body that is there as a whole.
#[derive(Debug, Default)]
pub(crate) struct Whole {
    pub(crate) data: Bytes,
    pub(crate) trailers: HeaderMap,
}

impl Body for Whole {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if !self.data.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.data)))));
        }
        if !self.trailers.is_empty() {
            return Poll::Ready(Some(Ok(Frame::trailers(std::mem::take(&mut self.trailers)))));
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.data.is_empty() && self.trailers.is_empty()
    }
}

/// Takes a body that is of one message at the most. That of a unary call is ready as soon as it is there; one that has more
/// messages, or waits for the next, is of a streaming call, and `None`.
pub(crate) async fn collect_whole<B>(body: B) -> Result<Option<Whole>, Status>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut body = pin!(body);
    let (mut first, mut more) = (Bytes::new(), BytesMut::new());
    let mut trailers = HeaderMap::new();
    loop {
        // Polled once and never awaited: a body that is not ready belongs to a streaming call, which is refused
        // instead of waited for.
        let frame = poll_fn(|context| match body.as_mut().poll_frame(context) {
            Poll::Ready(frame) => Poll::Ready(Ok(frame)),
            Poll::Pending => Poll::Ready(Err(())),
        });
        let Ok(frame) = frame.await else { return Ok(None) };
        let Some(frame) = frame else { break };
        let frame = frame.map_err(|error| Status::from_error(error.into()))?;
        match frame.into_data() {
            // The usual case, a message in one frame, is not copied.
            Ok(data) if first.is_empty() => first = data,
            Ok(data) => {
                if more.is_empty() {
                    more.extend_from_slice(&first);
                }
                more.extend_from_slice(&data);
            }
            Err(frame) => {
                if let Ok(found) = frame.into_trailers() {
                    trailers = found;
                }
            }
        }
        let data = if more.is_empty() { &first[..] } else { &more[..] };
        // After each frame: a stream that never ends must not be collected first.
        if count_messages(data) > 1 {
            return Ok(None);
        }
    }
    let data = if more.is_empty() { first } else { more.freeze() };
    Ok(Some(Whole { data, trailers }))
}

/// Messages in the data of a body, one that is not there as a whole included.
pub(crate) fn count_messages(mut data: &[u8]) -> usize {
    let mut count = 0;
    while !data.is_empty() {
        count += 1;
        // An incomplete message counts, so that a second one is noticed before it is whole.
        let Some(prefix) = data.get(..PREFIX) else { return count };
        let length = (&prefix[1..]).get_u32() as usize;
        let Some(rest) = data.get(PREFIX + length..) else { return count };
        data = rest;
    }
    count
}

/// The status of a streaming call.
pub(crate) fn streaming_status(path: &str) -> Status {
    Status::unimplemented(format!("{path}: Headway carries unary calls, and this one streams"))
}
