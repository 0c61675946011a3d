// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct TLSSettingsTests {
    @Test
    func theDefaultUsesTheSystemsSettings() {
        #expect(TLSSettings.default.certificateAuthorities.isEmpty)
        #expect(TLSSettings.default.clientCertificate == nil)
        #expect(TLSSettings.default.minimumVersion == .tls12)
        #expect(TLSSettings.default == TLSSettings())
        #expect(TLSSettings.Version.tls12 < .tls13)
    }

    @Test
    func noTextShowsThePassword() {
        let certificate = TLSSettings.ClientCertificate(pkcs12: Data([1, 2, 3]), password: "hunter2")
        let settings = TLSSettings(clientCertificate: certificate, minimumVersion: .tls13)
        let configuration = PulseConfiguration().with(\.tls, value: settings)
        for text in texts(of: certificate) + texts(of: settings) + texts(of: configuration) {
            #expect(!text.contains("hunter2"))
        }
        #expect(certificate.description == "a client certificate of 3 bytes")
    }
}
