// SPDX-License-Identifier: MIT

import PulseCore

extension Defect {
    /// Defects of a transport over TLS, as a wrapper around one that enforces all settings.
    static let ofTLS: [Defect] = [
        Defect(
            "ignores pins", noticedBy: "a server that proves no pinned key gets nothing, and its keys are reported",
            "a pinned certificate that the server appends to its chain does not count",
            "a request does not use a connection that was made for other pins or settings",
            fault: changing { $0.pins = nil }),
        Defect(
            "enforces pins that only report", noticedBy: "pins that only report let the request pass",
            fault: changing { request in
                request.pins = request.pins.map {
                    SSLPinningPolicy.PinSet(publicKeyHashes: $0.publicKeyHashes, certificates: $0.certificates)
                }
            }),
        Defect(
            "reports no keys", noticedBy: "a server that proves no pinned key gets nothing, and its keys are reported",
            "pins that only report let the request pass", fault: changing { $0.events = nil }),
        Defect(
            "compares the pins' hashes alone",
            noticedBy: "a server that proves a pinned key gets the request",
            fault: changing { request in
                request.pins = request.pins.map {
                    SSLPinningPolicy.PinSet(publicKeyHashes: $0.publicKeyHashes.union(["sha256/"]))
                }
            }),
        Defect(
            "trusts what is pinned", noticedBy: "a pinned key does not replace trust",
            fault: { base, request in
                do {
                    return try await base.send(request)
                } catch is TransportFailure where request.pins != nil {
                    return PulseResponse(statusCode: 200, request: request.urlRequest)
                }
            }),
        Defect(
            "trusts every certificate", noticedBy: "a server is trusted by the authority of the settings",
            "a certificate for another name is refused",
            "a certificate that has expired or is not valid yet is refused",
            fault: { base, request in
                do {
                    return try await base.send(request)
                } catch is TransportFailure {
                    return PulseResponse(statusCode: 200, request: request.urlRequest)
                }
            }),
        Defect(
            "ignores authorities", noticedBy: "a server is trusted by the authority of the settings",
            "an unreadable authority is an invalid request", fault: changing { $0.tls.certificateAuthorities = [] }),
        Defect(
            "has no minimum version", noticedBy: "a server without the minimum version of TLS is refused",
            fault: changing { $0.tls.minimumVersion = .tls12 }),
        Defect(
            "has no client certificate", noticedBy: "a server that requires a client certificate gets the one",
            "a client certificate of another authority is an error of its own",
            "an unreadable client certificate, or a wrong password, is an invalid request before a connection",
            fault: changing { $0.tls.clientCertificate = nil }),
        Defect(
            "reports all failures alike", noticedBy: "a missing client certificate is an error of its own",
            "a certificate that has expired or is not valid yet is refused",
            fault: { base, request in
                do {
                    return try await base.send(request)
                } catch let failure as TransportFailure {
                    throw TransportFailure(code: .secureConnectionFailed, phase: failure.phase)
                }
            }),
    ]

    private static func changing(
        _ change: @escaping @Sendable (inout TransportRequest) -> Void
    ) -> @Sendable (any Transport, TransportRequest) async throws -> PulseResponse {
        { base, request in
            var request = request
            change(&request)
            return try await base.send(request)
        }
    }
}
