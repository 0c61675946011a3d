// SPDX-License-Identifier: MIT

import PulseCore

/// A transport with one fault, around one without.
struct FaultyTransport: Transport {
    let base: any Transport
    let fault: @Sendable (_ base: any Transport, TransportRequest) async throws -> PulseResponse

    var capabilities: TransportCapabilities { base.capabilities }

    func send(_ request: TransportRequest) async throws -> PulseResponse {
        try await fault(base, request)
    }

    func shutdown() async {
        await base.shutdown()
    }
}

/// A fault and the cases that must detect it.
struct Defect: Sendable, CustomStringConvertible {
    let description: String
    let noticedBy: [String]
    let fault: @Sendable (_ base: any Transport, TransportRequest) async throws -> PulseResponse

    init(
        _ description: String, noticedBy: String...,
        fault: @escaping @Sendable (_ base: any Transport, TransportRequest) async throws -> PulseResponse
    ) {
        self.description = description
        self.noticedBy = noticedBy
        self.fault = fault
    }

    /// Changes the request.
    init(_ description: String, noticedBy: String..., sending change: @escaping @Sendable (inout URLRequest) -> Void) {
        self.description = description
        self.noticedBy = noticedBy
        fault = { base, request in
            var request = request
            change(&request.urlRequest)
            request.body = request.urlRequest.httpBody.map { .bytes($0) } ?? .none
            return try await base.send(request)
        }
    }

    /// Changes the response.
    init(
        _ description: String, noticedBy: String..., returning change: @escaping @Sendable (inout PulseResponse) -> Void
    ) {
        self.description = description
        self.noticedBy = noticedBy
        fault = { base, request in
            var response = try await base.send(request)
            change(&response)
            return response
        }
    }
}
