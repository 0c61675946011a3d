// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

/// Stands in for a ``MockServer`` without sockets, with the same responses and the same record. Each request counts as
/// a separate connection, which the client closes if it cancels.
final class SimulatedServer: Sendable {
    typealias Responder = @Sendable (URLRequest) async throws -> PulseResponse

    static let baseURL = URL(string: "http://server.test") ?? URL(fileURLWithPath: "/")

    let log = ActivityLog()
    private let respond: TransportConformance.Case.Responder

    init(_ respond: @escaping TransportConformance.Case.Responder) {
        self.respond = respond
    }

    func respond(to request: URLRequest) async throws -> PulseResponse {
        let connection = log.accepted()
        let recorded = RecordedRequest(simulated: request, connection: connection)
        log.began(recorded)
        log.completed(recorded)
        defer { log.closed(connection) }
        return try await withTaskCancellationHandler {
            try await deliver(respond(recorded), to: recorded, for: request)
        } onCancel: {
            log.ending(.closedByClient, of: connection)
        }
    }

    private func deliver(
        _ response: MockServer.Response, to recorded: RecordedRequest, for request: URLRequest
    ) async throws -> PulseResponse {
        for step in (response.script ?? []) + response.faults.map(\.step) {
            switch step.action {
            case .stall: try await Self.untilCancelled()
            case .delay(let seconds): try await SystemClock().sleep(seconds)
            case .halfClose, .close, .truncate, .reset:
                throw TransportFailure(code: .networkConnectionLost, phase: .maybeSent)
            case .bytes, .repeating, .stream, .converse, .unencrypted: continue
            }
        }
        let isHead = recorded.method == .head
        var headers = response.headers
        BodyLayout(response, isHead: isHead).framingFields.forEach { headers.add(name: $0.name, value: $0.value) }
        let hasBody = !isHead && response.status != 204 && response.status != 304
        return PulseResponse(
            statusCode: response.status, headers: headers, data: hasBody ? response.body.simulated : Data(),
            request: request, origin: .mock)
    }

    private static func untilCancelled() async throws {
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        defer { continuation.finish() }
        for await _ in stream {}
        try Task.checkCancellation()
    }
}
