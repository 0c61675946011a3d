// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability

/// A request of a call: an attempt of the retry loop, a redirect hop, or a hedged copy.
package struct ConsoleRequest: Sendable, Identifiable {
    /// The number of the request, unique within its recorder.
    package let id: UInt64
    /// The method and the result: `POST 503, attempt 2`.
    package let title: String
    /// The absolute URL, secrets masked.
    package let url: String
    /// How the request went: its times, its error, its connection.
    package let facts: [ConsoleField]
    /// The headers as sent, secrets masked; empty while the response is pending.
    package let requestHeaders: [ConsoleField]
    /// The body as sent; nil if there was none, or while the response is pending.
    package let requestBody: ConsoleBody?
    /// The headers of the response, secrets masked.
    package let responseHeaders: [ConsoleField]
    /// The body of the response; nil if there was none.
    package let responseBody: ConsoleBody?
    /// The request as a curl command, secrets masked; empty if its URL is invalid.
    package let curl: String

    init(_ exchange: PulseRecording.Exchange) {
        let (request, response) = (exchange.request, exchange.response)
        id = exchange.id
        title = "\(request.method) \(exchange.ending), \(exchange.title)"
        url = request.url
        facts = ConsoleField.list([
            ("Started after", ConsoleText.duration(exchange.offset)),
            ("Duration", exchange.duration.map { ConsoleText.duration($0) } ?? "running"),
            ("Error", exchange.failure.map { "\($0.kind.rawValue): \($0.message)" }),
            ("Source", response?.origin.rawValue), ("Protocol", response?.timings?.networkProtocol),
            ("Address", response?.timings?.remoteAddress),
            ("Connection", response?.timings?.isConnectionReused.map { $0 ? "reused" : "new" }),
        ])
        requestHeaders = Self.fields(request.headers)
        requestBody = ConsoleBody(request.body)
        responseHeaders = Self.fields(response?.headers ?? [:])
        responseBody = response.flatMap { ConsoleBody($0.body) }
        curl = exchange.curlCommand
    }

    private static func fields(_ headers: HTTPHeaders) -> [ConsoleField] {
        ConsoleField.list(headers.map { ($0.name, $0.value) })
    }
}
