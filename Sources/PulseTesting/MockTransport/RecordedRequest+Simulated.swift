// SPDX-License-Identifier: MIT

import PulseCore

extension MockServer.Response.Body {
    /// Without sockets a body arrives at once, so an endless body is impossible: such cases belong to the wire part.
    package var simulated: Data {
        switch self {
        case .data(let data): data
        case .repeating(let unit, let times): Data((0..<(times ?? 0)).map { _ in unit }.joined())
        case .stream: Data()
        }
    }
}

extension RecordedRequest {
    /// The record of a request that used no socket.
    package init(simulated request: URLRequest, connection: Int) {
        let url = request.url
        let path =
            url.map { URLComponents(url: $0, resolvingAgainstBaseURL: true)?.percentEncodedPath ?? $0.path } ?? ""
        let query = url.flatMap { URLComponents(url: $0, resolvingAgainstBaseURL: true)?.percentEncodedQuery }
        let head = RequestHead(
            method: HTTPMethod(rawValue: request.httpMethod ?? "GET") ?? .get,
            target: (path.isEmpty ? "/" : path) + (query.map { "?" + $0 } ?? ""),
            isVersion10: false,
            headers: HTTPHeaders(request.allHTTPHeaderFields ?? [:]),
            framing: .none)
        self.init(head, connection: connection, indexOnConnection: 0)
        body = request.httpBody ?? Data()
        bodyByteCount = body.count
        isComplete = true
    }
}
