// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct TLSIdentityTests {
    #if os(Linux)
    @Test func eachGeneratedIdentityHasKeysOfItsOwn() throws {
        let (one, other) = (try MockServer.TLSIdentity.generated(), try MockServer.TLSIdentity.generated())
        #expect(one.key != other.key && one.authority != other.authority)
        #expect(one.clientCertificate != other.clientCertificate)
        #expect(String(decoding: one.certificates, as: UTF8.self).hasPrefix("-----BEGIN CERTIFICATE-----"))
    }

    @Test(arguments: [[], [""], ["a,DNS:b"], ["a b"], ["1.2.3"], ["::g"], ["é.test"]])
    func refusesInvalidNames(_ names: [String]) {
        let error = #expect(throws: PulseError.self) { try MockServer.TLSIdentity.generated(names: names) }
        #expect(error?.kind == .invalidRequest)
    }

    @Test func aServerAcceptsAnIdentityFromPEMAndNamesARefusedPart() async throws {
        let generated = try MockServer.TLSIdentity.generated()
        let other = try MockServer.TLSIdentity.generated()
        let identity = MockServer.TLSIdentity(certificates: generated.certificates, key: generated.key)
        #expect(identity.authority == generated.certificates && identity.clientCertificate == nil)
        try await MockServer.run(.init(tls: identity)) { #expect($0.baseURL.scheme == "https") }
        let refused: [(MockServer.TLSIdentity, String)] = [
            (.init(certificates: Data("no PEM".utf8), key: generated.key), "its certificate"),
            (.init(certificates: generated.certificates, key: Data()), "its key"),
            (.init(certificates: generated.certificates, key: other.key), "its key"),
            (
                .init(certificates: generated.certificates, key: generated.key, authority: Data("none".utf8)),
                "its authority of clients"
            ),
        ]
        for (identity, part) in refused {
            let error = await #expect(throws: PulseError.self) {
                try await MockServer.start(.init(tls: identity, clientCertificates: .required))
            }
            #expect("\(error.map { "\($0)" } ?? "")".hasSuffix(part))
        }
    }
    #else
    @Test func anIdentityWithoutLibsslIsUnsupported() async throws {
        let error = #expect(throws: PulseError.self) { try MockServer.TLSIdentity.generated() }
        #expect(error?.kind == .unsupported)
        let identity = MockServer.TLSIdentity(certificates: Data(), key: Data())
        let other = await #expect(throws: PulseError.self) { try await MockServer.start(.init(tls: identity)) }
        #expect(other?.kind == .unsupported)
    }
    #endif

    @Test func theTextOfAnIdentityShowsNoKey() {
        let identity = MockServer.TLSIdentity(certificates: Data("certificate".utf8), key: Data("secret".utf8))
        var dumped = ""
        dump(identity, to: &dumped)
        for text in [dumped, "\(identity)", String(reflecting: identity)] {
            #expect(!text.contains("key") && !text.contains("secret"))
        }
    }
}
