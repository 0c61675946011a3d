// SPDX-License-Identifier: MIT

public import PulseCore

/// One request of a call and what came of it: an attempt of the retry loop, a hop of a redirect, a copy that hedging
/// sent.
public struct RecordedExchange: Sendable, Identifiable {
    /// A request as it was sent, secrets masked.
    public struct Request: Sendable, Hashable {
        /// The method, such as `GET`.
        public let method: String
        /// The absolute URL, with user info and secret query items masked.
        public let url: String
        /// The headers, secrets masked.
        public let headers: HTTPHeaders
        /// The body, as far as it is kept.
        public let body: RecordedBody

        /// A request; without headers and body by default.
        public init(method: String, url: String, headers: HTTPHeaders = [:], body: RecordedBody = .none) {
            self.method = method
            self.url = url
            self.headers = headers
            self.body = body
        }
    }

    /// An answer, secrets masked.
    public struct Response: Sendable, Hashable {
        /// The status of the answer.
        public let statusCode: Int
        /// The headers, secrets masked.
        public let headers: HTTPHeaders
        /// The body, as far as it is kept.
        public let body: RecordedBody
        /// Where the answer came from, such as the network or the cache.
        public let origin: PulseResponse.Origin
        /// The transport's measurements; nil if it made none.
        public let timings: TransferTimings?

        /// An answer; by default one of the network without headers and body.
        public init(
            statusCode: Int, headers: HTTPHeaders = [:], body: RecordedBody = .none,
            origin: PulseResponse.Origin = .network, timings: TransferTimings? = nil
        ) {
            self.statusCode = statusCode
            self.headers = headers
            self.body = body
            self.origin = origin
            self.timings = timings
        }
    }

    /// The number of the exchange among all of its recorder.
    public let id: UInt64
    /// The attempt of the retry loop, counted from 1.
    public let attempt: Int
    /// The hop of the redirects; 0 for the call's own request.
    public let hop: Int
    /// When it began, in seconds from the start of the call.
    public let offset: TimeInterval
    /// The request. While the answer is awaited it has no headers and no body.
    public internal(set) var request: Request
    /// The answer; nil while it is awaited, or if none came.
    public internal(set) var response: Response?
    /// Why there is no answer, or why the answer's stream broke off.
    public internal(set) var failure: ErrorSummary?
    /// Seconds until the answer was whole, for a stream until its end; nil while it is under way.
    public internal(set) var duration: TimeInterval?
    /// What a cassette needs to play the failure, besides its kind and text.
    package internal(set) var fault: RecordedFault?

    /// An exchange with these values; by default one whose answer is awaited.
    public init(
        id: UInt64, attempt: Int = 1, hop: Int = 0, offset: TimeInterval = 0, request: Request,
        response: Response? = nil, failure: ErrorSummary? = nil, duration: TimeInterval? = nil
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
        id: UInt64, request: Request, response: Response?, failure: ErrorSummary?, duration: TimeInterval,
        fault: RecordedFault?
    ) {
        self.init(id: id, request: request, response: response, failure: failure, duration: duration)
        self.fault = fault
    }

    /// The bytes that it takes in memory, approximately.
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

extension RecordedExchange {
    /// The request as a `curl` command, secrets masked: see `URLRequest.curlCommand()`. Empty if its URL is invalid.
    public var curlCommand: String {
        guard let url = URL(string: request.url) else { return "" }
        var copy = URLRequest(url: url)
        copy.httpMethod = request.method
        for field in request.headers { copy.addValue(field.value, forHTTPHeaderField: field.name) }
        switch request.body.content {
        case .none: break
        case .text(let text) where !request.body.isCut: copy.httpBody = Data(text.utf8)
        case .bytes(let data): copy.httpBody = data
        case .text, .omitted:
            let stream = BodyStream(length: request.body.byteCount) { ByteStream([]) }
            return copy.curlCommand(body: .stream(stream), redaction: nil)
        }
        return copy.curlCommand(redaction: nil, maxBodyLength: .max)
    }
}

/// The numbers behind a failure.
package enum RecordedFault: Sendable, Hashable {
    /// How the wire failed.
    case wire(code: Int, phase: PulseError.Phase)
    /// The bytes above which the answer was refused.
    case limit(Int)

    /// Nil for what has none.
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
