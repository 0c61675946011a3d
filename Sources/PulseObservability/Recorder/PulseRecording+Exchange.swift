// SPDX-License-Identifier: MIT

public import PulseCore

extension PulseRecording {
    /// One request of a call and its result: an attempt of the retry loop, a redirect hop, or a hedged copy.
    public struct Exchange: Sendable, Identifiable {
        /// A request as it was sent, secrets masked.
        public struct Request: Sendable, Hashable {
            /// The method, such as `GET`.
            public let method: String
            /// The absolute URL, with user info and secret query items masked.
            public let url: String
            /// The headers, secrets masked.
            public let headers: HTTPHeaders
            /// The body, as far as it is stored.
            public let body: Body

            /// Creates a request; without headers and body by default.
            package init(method: String, url: String, headers: HTTPHeaders = [:], body: Body = .none) {
                self.method = method
                self.url = url
                self.headers = headers
                self.body = body
            }
        }

        /// A response, secrets masked.
        public struct Response: Sendable, Hashable {
            /// The status of the response.
            public let statusCode: Int
            /// The headers, secrets masked.
            public let headers: HTTPHeaders
            /// The body, as far as it is stored.
            public internal(set) var body: Body
            /// The source of the response, such as the network or the cache.
            public let origin: PulseResponse.Origin
            /// The transport's measurements; nil if it made none.
            public let timings: PulseResponse.Timings?

            /// Creates a response; by default from the network, without headers and body.
            package init(
                statusCode: Int, headers: HTTPHeaders = [:], body: Body = .none,
                origin: PulseResponse.Origin = .network, timings: PulseResponse.Timings? = nil
            ) {
                self.statusCode = statusCode
                self.headers = headers
                self.body = body
                self.origin = origin
                self.timings = timings
            }
        }

        /// The number of the exchange, unique within its recorder.
        public let id: UInt64
        /// The attempt of the retry loop, counted from 1.
        public let attempt: Int
        /// The number of the redirect hop; 0 for the call's own request.
        public let hop: Int
        /// When it started, in seconds from the start of the call.
        public let offset: TimeInterval
        /// The request. Without headers and body while the response is pending.
        public internal(set) var request: Request
        /// The response; nil while it is pending, or if there is none.
        public internal(set) var response: Response?
        /// Why there is no response, or why the response's stream failed.
        public internal(set) var failure: PulseError.Summary?
        /// Seconds until the response was complete, for a stream until its end; nil while it is in progress.
        public internal(set) var duration: TimeInterval?
        /// The details that a cassette needs to replay the failure, besides its kind and text.
        package internal(set) var fault: RecordedFault?

        /// Creates an exchange with these values; by default one whose response is pending.
        package init(
            id: UInt64, attempt: Int = 1, hop: Int = 0, offset: TimeInterval = 0, request: Request,
            response: Response? = nil, failure: PulseError.Summary? = nil, duration: TimeInterval? = nil
        ) {
            self.id = id
            self.attempt = attempt
            self.hop = hop
            self.offset = offset
            self.request = request
            self.response = response
            self.failure = failure
            self.duration = duration
        }

        package init(
            id: UInt64, request: Request, response: Response?, failure: PulseError.Summary?, duration: TimeInterval,
            fault: RecordedFault?
        ) {
            self.init(id: id, request: request, response: response, failure: failure, duration: duration)
            self.fault = fault
        }

        /// The approximate size in memory, in bytes.
        var cost: Int {
            var cost = 512 + request.url.utf8.count + request.headers.cost + request.body.cost
            if let response { cost += response.headers.cost + response.body.cost }
            return cost + (failure?.message.utf8.count ?? 0)
        }

        mutating func dropBodies() {
            request = Request(
                method: request.method, url: request.url, headers: request.headers, body: request.body.withoutContent)
            guard let known = response else { return }
            response = Response(
                statusCode: known.statusCode, headers: known.headers, body: known.body.withoutContent,
                origin: known.origin, timings: known.timings)
        }
    }
}

extension PulseRecording.Exchange {
    /// The request as a `curl` command, secrets masked: see `URLRequest.curlCommand()`. Empty if its URL is invalid.
    public var curlCommand: String {
        guard let url = URL(string: request.url) else { return "" }
        var copy = URLRequest(url: url)
        copy.httpMethod = request.method
        for field in request.headers { copy.addValue(field.value, forHTTPHeaderField: field.name) }
        switch request.body.content {
        case .none: break
        case .text(let text) where !request.body.isTruncated: copy.httpBody = Data(text.utf8)
        case .bytes(let data): copy.httpBody = data
        case .text, .omitted:
            let stream = RequestBody.Stream(length: request.body.byteCount) { ByteStream([]) }
            return copy.curlCommand(body: .stream(stream), redaction: nil)
        }
        return copy.curlCommand(redaction: nil, maxBodyLength: .max)
    }
}

/// The numeric details of a failure.
package enum RecordedFault: Sendable, Hashable {
    /// A network failure.
    case wire(code: Int, phase: PulseError.Phase)
    /// The limit in bytes that the response exceeded.
    case limit(Int)

    /// Nil for an error without numeric details.
    package init?(_ error: PulseError) {
        switch error {
        case .transport(let code, _): self = .wire(code: code.rawValue, phase: error.phase ?? .maybeSent)
        case .timeout: self = .wire(code: URLError.Code.timedOut.rawValue, phase: .maybeSent)
        case .noConnection: self = .wire(code: URLError.Code.notConnectedToInternet.rawValue, phase: .beforeSend)
        case .responseTooLarge(let limit): self = .limit(limit)
        default: return nil
        }
    }
}

extension HTTPHeaders {
    fileprivate var cost: Int {
        reduce(0) { $0 + 64 + $1.name.utf8.count + $1.value.utf8.count }
    }
}
