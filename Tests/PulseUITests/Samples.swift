// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability

extension PulseRecording.Call {
    /// A call that ended with that status, or failed.
    static func sample(
        _ path: String = "/a", method: HTTPMethod = .get, host: String = "api.example.com", status: Int? = 200,
        failure: PulseError.Summary? = nil, latency: TimeInterval? = 0.25, bytes: Int = 0,
        origin: PulseResponse.Origin = .network, exchanges: [PulseRecording.Exchange] = [], marks: [Mark] = []
    ) -> PulseRecording.Call {
        let success = status.map { NetworkEvent.ResponseSummary(statusCode: $0, byteCount: bytes, origin: origin) }
        return PulseRecording.Call(
            id: UUID(), endpointPath: path, route: "Route", method: method, host: host,
            startedAt: Date(timeIntervalSince1970: 1_767_225_600), latency: latency,
            outcome: failure.map { .failure($0) } ?? success.map { .success($0) }, exchanges: exchanges, marks: marks)
    }
}

extension PulseRecording.Exchange {
    static func sample(
        id: UInt64 = 1, attempt: Int = 1, hop: Int = 0, url: String = "https://api.example.com/a",
        requestHeaders: HTTPHeaders = [:], requestBody: PulseRecording.Body = .none,
        response: Response? = .init(statusCode: 200), failure: PulseError.Summary? = nil, duration: TimeInterval? = 0.1
    ) -> PulseRecording.Exchange {
        PulseRecording.Exchange(
            id: id, attempt: attempt, hop: hop,
            request: .init(method: "GET", url: url, headers: requestHeaders, body: requestBody), response: response,
            failure: failure, duration: duration)
    }
}
