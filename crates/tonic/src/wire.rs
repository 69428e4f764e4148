//! The parts of an HTTP request and of its response that a message carries.
//!
//! Numbers are big-endian. A request: the version, the length of the path in two bytes, the path, headers, and the rest is the
//! body. A response: the version, the HTTP status in two bytes, headers, trailers, and the rest is the body. Headers: their number in two
//! bytes; of each the length of the name in two bytes, the name, the length of the value in four, the value.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::header::{HeaderMap, HeaderName, HeaderValue};

/// Version of this format, the first byte of each message.
const VERSION: u8 = 1;

/// A request as a message carries it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    /// Path, such as `/helloworld.Greeter/SayHello`.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A response as a message carries it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) trailers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Why something cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more than 65,535 headers, or a path or a name longer than that")]
pub(crate) struct TooMuch;

/// Bytes that are not a message of this format, or of another version of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the peer's message is none of gRPC over Headway, or of another version")]
pub(crate) struct Malformed;

impl Request {
    pub(crate) fn encode_request(&self) -> Result<Bytes, TooMuch> {
        let mut out =
            BytesMut::with_capacity(3 + self.path.len() + headers_length(&self.headers) + self.body.len());
        out.put_u8(VERSION);
        out.put_u16(to_u16(self.path.len())?);
        out.put_slice(self.path.as_bytes());
        put_headers(&mut out, &self.headers)?;
        out.put_slice(&self.body);
        Ok(out.freeze())
    }

    pub(crate) fn decode_request(mut bytes: Bytes) -> Result<Request, Malformed> {
        check_version(&mut bytes)?;
        let length = bytes.try_get_u16().map_err(|_| Malformed)?;
        let path = take_bytes(&mut bytes, length.into())?;
        let path = std::str::from_utf8(&path).map_err(|_| Malformed)?.to_string();
        let headers = read_headers(&mut bytes)?;
        Ok(Request { path, headers, body: bytes })
    }
}

impl Response {
    pub(crate) fn encode_response(&self) -> Result<Bytes, TooMuch> {
        let all = 3 + headers_length(&self.headers) + headers_length(&self.trailers) + self.body.len();
        let mut out = BytesMut::with_capacity(all);
        out.put_u8(VERSION);
        out.put_u16(self.status);
        put_headers(&mut out, &self.headers)?;
        put_headers(&mut out, &self.trailers)?;
        out.put_slice(&self.body);
        Ok(out.freeze())
    }

    pub(crate) fn decode_response(mut bytes: Bytes) -> Result<Response, Malformed> {
        check_version(&mut bytes)?;
        let status = bytes.try_get_u16().map_err(|_| Malformed)?;
        let (headers, trailers) = (read_headers(&mut bytes)?, read_headers(&mut bytes)?);
        Ok(Response { status, headers, trailers, body: bytes })
    }
}

fn to_u16(length: usize) -> Result<u16, TooMuch> {
    u16::try_from(length).map_err(|_| TooMuch)
}

/// Bytes that headers take.
fn headers_length(headers: &HeaderMap) -> usize {
    // Two bytes for the number of headers; for each, two and four for its lengths.
    2 + headers.iter().map(|(name, value)| 6 + name.as_str().len() + value.len()).sum::<usize>()
}

fn put_headers(out: &mut BytesMut, headers: &HeaderMap) -> Result<(), TooMuch> {
    out.put_u16(to_u16(headers.len())?);
    for (name, value) in headers {
        out.put_u16(to_u16(name.as_str().len())?);
        out.put_slice(name.as_str().as_bytes());
        out.put_u32(u32::try_from(value.len()).map_err(|_| TooMuch)?);
        out.put_slice(value.as_bytes());
    }
    Ok(())
}

fn check_version(bytes: &mut Bytes) -> Result<(), Malformed> {
    if bytes.try_get_u8() == Ok(VERSION) { Ok(()) } else { Err(Malformed) }
}

fn take_bytes(bytes: &mut Bytes, length: usize) -> Result<Bytes, Malformed> {
    // `split_to` shares the memory of the message, and panics beyond its end.
    if length > bytes.len() { Err(Malformed) } else { Ok(bytes.split_to(length)) }
}

fn read_headers(bytes: &mut Bytes) -> Result<HeaderMap, Malformed> {
    let count = bytes.try_get_u16().map_err(|_| Malformed)?;
    let mut headers = HeaderMap::new();
    for _ in 0..count {
        let length = bytes.try_get_u16().map_err(|_| Malformed)?;
        let name = HeaderName::from_bytes(&take_bytes(bytes, length.into())?).map_err(|_| Malformed)?;
        let length = bytes.try_get_u32().map_err(|_| Malformed)?;
        let value = take_bytes(bytes, length as usize)?;
        let value = HeaderValue::from_maybe_shared(value).map_err(|_| Malformed)?;
        // `append` and not `insert`: gRPC metadata may repeat a name. The fallible one, because a map has a
        // largest size that a peer may exceed.
        headers.try_append(name, value).map_err(|_| Malformed)?;
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn some_headers() -> impl Strategy<Value = HeaderMap> {
        prop::collection::vec(("[a-z][a-z-]{0,12}", "[ -~]{0,20}"), 0..6).prop_map(|pairs| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
                headers.append(name, HeaderValue::from_str(&value).expect("a value"));
            }
            headers
        })
    }

    fn some_bytes() -> impl Strategy<Value = Bytes> {
        prop::collection::vec(any::<u8>(), 0..300).prop_map(Bytes::from)
    }

    proptest! {
        #![proptest_config(headway_testing::cases!(256))]

        #[test]
        fn what_is_written_is_read(
            path in "/[a-z.]{0,30}/[A-Z]{0,9}", first in some_headers(), second in some_headers(),
            status in any::<u16>(), body in some_bytes(), cut in any::<prop::sample::Index>(),
        ) {
            let request = Request { path, headers: first.clone(), body: body.clone() };
            let written = request.encode_request().expect("room");
            prop_assert_eq!(Request::decode_request(written.clone()), Ok(request.clone()));
            let response = Response { status, headers: first, trailers: second, body };
            let written_too = response.encode_response().expect("room");
            prop_assert_eq!(Response::decode_response(written_too.clone()), Ok(response));
            // A cut in front of the body makes a message malformed; a cut body is left to gRPC's own lengths.
            let front = written.len() - request.body.len();
            let cut = cut.index(front);
            prop_assert_eq!(Request::decode_request(written.slice(..cut)), Err(Malformed));
        }

        #[test]
        fn no_bytes_do_harm(bytes in some_bytes()) {
            let _ = Request::decode_request(bytes.clone());
            let _ = Response::decode_response(bytes.clone());
            let versioned: Bytes = [&[VERSION][..], &bytes].concat().into();
            let _ = Request::decode_request(versioned.clone());
            let _ = Response::decode_response(versioned);
        }
    }

    #[test]
    fn another_version_is_malformed() {
        let request = Request { path: "/a/b".into(), headers: HeaderMap::new(), body: Bytes::new() };
        let mut bytes = request.encode_request().expect("room").to_vec();
        bytes[0] = VERSION + 1;
        assert_eq!(Request::decode_request(bytes.into()), Err(Malformed));
    }
}
