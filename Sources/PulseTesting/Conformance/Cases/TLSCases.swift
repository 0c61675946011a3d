// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

extension TransportConformance.Case {
    // MARK: The server's certificate

    static let serverTrust: [Self] = [
        .tls("a server is trusted by the authority of the settings, and by no other") { stage in
            let other = try TLSCaseServer().identity.clientSettings
            try await TLSCaseServer().run(on: stage) { stage in
                try await stage.expectSuccess(of: stage.request(.post))
                for settings in [.default, other] {
                    try await stage.expectUntrusted(
                        [.serverCertificateHasUnknownRoot, .serverCertificateUntrusted], tls: settings)
                }
                try stage.expectRequests(1)
            }
        },
        .tls("a certificate for another name is refused before anything is sent") { stage in
            try await TLSCaseServer(names: ["example.com", "127.0.0.2"]).run(on: stage) { stage in
                try await stage.expectUntrusted([.serverCertificateUntrusted])
                try stage.expectRequests(0)
            }
        },
        .tls("a certificate that has expired or is not valid yet is refused before anything is sent") { stage in
            for (validity, code) in [
                (-172_800..<(-86_400), .serverCertificateHasBadDate), (86_400..<172_800, .serverCertificateNotYetValid),
            ] as [(Range<TimeInterval>, URLError.Code)] {
                try await TLSCaseServer(validity: validity).run(on: stage) { stage in
                    try await stage.expectUntrusted([code, .serverCertificateUntrusted])
                    try stage.expectRequests(0)
                }
            }
        },
        .tls("an unreadable authority is an invalid request, and nothing is sent") { stage in
            try await TLSCaseServer().run(on: stage) { stage in
                let broken = "-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----\n"
                for text in ["", "no certificate", broken] {
                    let settings = TLSSettings(certificateAuthorities: [Data(text.utf8)])
                    try await stage.expect(.kind(.invalidRequest), of: stage.request(tls: settings))
                }
                try stage.expectRequests(0)
            }
        },
        .tls("a server without the minimum version of TLS is refused before anything is sent") { stage in
            try await TLSCaseServer(versions: .tls12 ... .tls12).run(on: stage) { stage in
                try await stage.expectSuccess(of: stage.request())
                let settings = stage.settings { $0.minimumVersion = .tls13 }
                try await stage.expect(
                    .transport(.secureConnectionFailed, .beforeSend), of: stage.request(tls: settings))
                try stage.expectRequests(1)
            }
        },
    ]

    // MARK: Pins

    static let pins: [Self] = [
        .tls("a server that proves a pinned key gets the request, if the key is its own or its authority's", .pinning) {
            stage in
            let stranger = try TLSCaseServer().identity
            try await TLSCaseServer().run(on: stage) { stage in
                for certificate in [stage.identity.certificates, stage.identity.authority] {
                    let pins = try SSLPinningPolicy.PinSet(certificates: stranger.authority, certificate)
                    try await stage.expectSuccess(of: stage.request(.post, pins: pins))
                }
            }
        },
        .tls("a server that proves no pinned key gets nothing, and its keys are reported", .pinning) { stage in
            let stranger = try TLSCaseServer().identity
            try await TLSCaseServer().run(on: stage) { stage in
                let reports = PinReports()
                let pins = try SSLPinningPolicy.PinSet(certificates: stranger.certificates)
                try await stage.expect(
                    .kind(.sslPinningFailed), of: stage.request(.post, pins: pins, events: reports))
                try stage.expectRequests(0)
                let seen = try reports.only()
                try Check.equal(seen.count, 2, "the number of reported keys")
                // The server proves each of them.
                for hash in seen {
                    try await stage.expectSuccess(
                        of: stage.request(pins: SSLPinningPolicy.PinSet(publicKeyHashes: [hash])))
                }
            }
        },
        .tls("pins that only report let the request pass, and report the keys", .pinning) { stage in
            let stranger = try TLSCaseServer().identity
            try await TLSCaseServer().run(on: stage) { stage in
                let reports = PinReports()
                let pins = try SSLPinningPolicy.PinSet(certificates: stranger.certificates, isReportOnly: true)
                try await stage.expectSuccess(of: stage.request(pins: pins, events: reports))
                try Check.equal(reports.only().count, 2, "the number of reported keys")
            }
        },
        .tls("a pinned key does not replace trust", .pinning) { stage in
            let other = try TLSCaseServer().identity.clientSettings
            try await TLSCaseServer().run(on: stage) { stage in
                try await stage.expectUntrusted(
                    [.serverCertificateHasUnknownRoot, .serverCertificateUntrusted], tls: other,
                    pins: SSLPinningPolicy.PinSet(certificates: stage.identity.certificates))
                try stage.expectRequests(0)
            }
        },
        .tls("a pinned certificate that the server appends to its chain does not count", .pinning) { stage in
            let pinned = try TLSCaseServer().identity
            for appended in [pinned.certificates, pinned.authority] {
                try await TLSCaseServer(appending: appended).run(on: stage) { stage in
                    try await stage.expectSuccess(of: stage.request())
                    let pins = try SSLPinningPolicy.PinSet(certificates: appended)
                    try await stage.expect(.kind(.sslPinningFailed), of: stage.request(pins: pins))
                    try stage.expectRequests(1)
                }
            }
        },
        .tls("a request does not use a connection that was made for other pins or settings", .pinning) { stage in
            let stranger = try TLSCaseServer().identity
            try await TLSCaseServer().run(on: stage) { stage in
                try await stage.expectSuccess(of: stage.request())
                let pins = try SSLPinningPolicy.PinSet(certificates: stranger.certificates)
                try await stage.expect(.kind(.sslPinningFailed), of: stage.request(pins: pins))
                try await stage.expectUntrusted(
                    [.serverCertificateHasUnknownRoot, .serverCertificateUntrusted], tls: stranger.clientSettings)
                try stage.expectRequests(1)
            }
        },
    ]

    // MARK: The client's certificate

    static let clientCertificates: [Self] = [
        .tls("a server that requires a client certificate gets the one of the settings") { stage in
            for version in [TLSSettings.Version.tls12, .tls13] {
                try await TLSCaseServer(versions: version...version, clients: .required).run(on: stage) { stage in
                    let settings = stage.settings { $0.clientCertificate = stage.identity.clientCertificate }
                    try await stage.expectSuccess(of: stage.request(.post, tls: settings))
                }
            }
        },
        .tls("a missing client certificate is an error of its own, and nothing is received") { stage in
            for version in [TLSSettings.Version.tls12, .tls13] {
                try await TLSCaseServer(versions: version...version, clients: .required).run(on: stage) { stage in
                    try await stage.expect(.transport(.clientCertificateRequired), of: stage.request())
                    try stage.expectRequests(0)
                }
            }
        },
        .tls("a client certificate of another authority is an error of its own, and nothing is received") { stage in
            let stranger = try TLSCaseServer().identity
            for version in [TLSSettings.Version.tls12, .tls13] {
                try await TLSCaseServer(versions: version...version, clients: .required).run(on: stage) { stage in
                    let settings = stage.settings { $0.clientCertificate = stranger.clientCertificate }
                    try await stage.expect(.transport(.clientCertificateRejected), of: stage.request(tls: settings))
                    try stage.expectRequests(0)
                }
            }
        },
        .tls("an unreadable client certificate, or a wrong password, is an invalid request before a connection") {
            stage in
            let server = try TLSCaseServer(clients: .required)
            guard let right = server.identity.clientCertificate else { throw Check.Failure(reason: "no certificate") }
            try await server.run(on: stage) { stage in
                for certificate in [
                    TLSSettings.ClientCertificate(pkcs12: right.data, password: "hunter2"),
                    TLSSettings.ClientCertificate(pkcs12: right.data.prefix(100), password: right.password),
                    TLSSettings.ClientCertificate(pkcs12: Data(), password: ""),
                ] {
                    let settings = stage.settings { $0.clientCertificate = certificate }
                    let error = try await stage.stage.failure(of: stage.request(tls: settings))
                    try ExpectedFailure.kind(.invalidRequest).verify(error)
                    try Check.that(!"\(error)".contains("hunter2"), "the error shows the password")
                }
                try Check.equal(stage.server.connectionCount, 0, "the number of connections")
            }
        },
    ]

    private static func tls(
        _ name: String, _ capabilities: TransportCapabilities = [],
        verify: @escaping @Sendable (ConformanceStage) async throws -> Void
    ) -> Self {
        tls(name, requires: capabilities.union(.tls), verify: verify)
    }
}

/// A TLS server for one case, with its own identity.
private struct TLSCaseServer {
    let identity: MockServer.TLSIdentity
    private let configuration: MockServer.Configuration

    /// - Parameter appended: certificates that the server sends after its chain.
    init(
        names: [String] = MockServer.TLSIdentity.loopbackNames, validity: Range<TimeInterval> = -86_400..<2_592_000,
        appending appended: Data = Data(), versions: ClosedRange<TLSSettings.Version> = .tls12 ... .tls13,
        clients: MockServer.Configuration.ClientCertificates = .ignored
    ) throws {
        do {
            identity = try .generated(names: names, validity: validity)
        } catch let error as PulseError where error.kind == .unsupported {
            throw Check.Unavailable(reason: "\(error)")
        }
        let served = MockServer.TLSIdentity(
            certificates: identity.certificates + appended, key: identity.key, authority: identity.authority)
        configuration = MockServer.Configuration(tls: served, tlsVersions: versions, clientCertificates: clients)
    }

    func run(on stage: ConformanceStage, _ body: (TLSStage) async throws -> Void) async throws {
        try await MockServer.run(configuration) { server in
            server.fallback { _ in .status(200) }
            try await body(TLSStage(stage: stage, server: server, identity: identity))
        }
    }
}

/// The transport under test, with a TLS server.
private struct TLSStage {
    let stage: ConformanceStage
    let server: MockServer
    let identity: MockServer.TLSIdentity

    /// Settings that trust the server, modified by `change`.
    func settings(_ change: (inout TLSSettings) -> Void) -> TLSSettings {
        var settings = identity.clientSettings
        change(&settings)
        return settings
    }

    /// - Parameter tls: nil for settings that trust the server.
    func request(
        _ method: HTTPMethod = .get, tls: TLSSettings? = nil, pins: SSLPinningPolicy.PinSet? = nil,
        events: (any EventSink)? = nil
    ) throws -> TransportRequest {
        var request = try stage.request(method, at: server.baseURL.absoluteString + "/")
        request.tls = tls ?? identity.clientSettings
        request.pins = pins
        request.events = events
        return request
    }

    func expectSuccess(of request: TransportRequest) async throws {
        try Check.equal(await stage.send(request).statusCode, 200, "the status")
    }

    func expect(_ failure: ExpectedFailure, of request: TransportRequest) async throws {
        try await stage.expect(failure, of: request)
    }

    /// Expects that nothing is sent, since the server's certificate is not trusted.
    func expectUntrusted(_ codes: Set<URLError.Code>, tls: TLSSettings? = nil, pins: SSLPinningPolicy.PinSet? = nil)
        async throws
    {
        for method in [HTTPMethod.get, .post] {
            let error = try await stage.failure(of: request(method, tls: tls, pins: pins))
            guard case .transport(let code, _) = error, codes.contains(code) else {
                throw Check.Failure(reason: "the error is \(error), not one of the codes \(codes.map(\.rawValue))")
            }
            try Check.that(error.phase == .beforeSend, "the phase of \(error) is not beforeSend")
        }
    }

    func expectRequests(_ count: Int) throws {
        try Check.equal(server.requests.count, count, "the number of received requests")
    }
}

/// The reports of keys that are not pinned.
private final class PinReports: EventSink {
    private let reports = Locked<[[String]]>([])

    var isActive: Bool { true }

    func emit(_ event: NetworkEvent) {
        if case .pinningFailed(_, let seen) = event { reports.withLock { $0.append(seen) } }
    }

    func only() throws -> [String] {
        let reports = reports.withLock { $0 }
        try Check.equal(reports.count, 1, "the number of reports")
        return reports[0]
    }
}

extension SSLPinningPolicy.PinSet {
    /// - Parameter texts: in PEM; the first certificate of each is pinned.
    fileprivate init(certificates texts: Data..., isReportOnly: Bool = false) throws {
        let certificates = try texts.map { text in
            let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
            let base64 = lines.drop { !$0.hasPrefix("-----BEGIN") }.dropFirst().prefix { !$0.hasPrefix("-----") }
            guard let certificate = Data(base64Encoded: base64.joined()), !certificate.isEmpty else {
                throw Check.Failure(reason: "no certificate in PEM")
            }
            return certificate
        }
        self.init(publicKeyHashes: [], certificates: certificates, isReportOnly: isReportOnly)
    }
}
