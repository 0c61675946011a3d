// SPDX-License-Identifier: MIT

import PulseCore
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ConnectionSettingsTests {
    /// All the ways in which Swift turns a value into text.
    private static func texts(of value: some Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return ["\(value)", String(describing: value), String(reflecting: value), dumped]
    }

    @Test
    func showsNoProxyCredentials() {
        for proxy in [
            ProxySettings.http(host: "proxy.example", port: 3128), .socks5(host: "proxy.example", port: 1080),
        ] {
            let settings = proxy.credentials(username: "alice", password: "hunter2").excluding("localhost", ".internal")
            #expect(settings != proxy)
            #expect(settings.exclusions == ["localhost", ".internal"])
            for text in Self.texts(of: settings) + Self.texts(of: [settings as ProxySettings?]) {
                #expect(!text.contains("hunter2") && !text.contains("alice"), "\(text)")
                #expect(text.contains("proxy.example"), "\(text)")
            }
        }
        #expect(ProxySettings.environment != .direct)
        #expect(PulseConfiguration().proxy == .environment)
    }

    @Test
    func showsNoPasswordOfAClientCertificate() {
        let settings = TLSSettings(
            clientCertificate: TLSSettings.ClientCertificate(pkcs12: Data("hunter1".utf8), password: "hunter2"))
        for text in Self.texts(of: settings) + Self.texts(of: settings.clientCertificate as Any) {
            #expect(!text.contains("hunter"), "\(text)")
        }
    }

    @Test
    func startsFromTheSystemsTrustAndTLS12() {
        #expect(TLSSettings() == .default)
        #expect(TLSSettings.default.minimumVersion == .tls12)
        #expect(TLSSettings.default.certificateAuthorities.isEmpty)
        #expect(TLSSettings.default.clientCertificate == nil)
        #expect(TLSSettings(minimumVersion: .tls13) != .default)
        #expect(TLSSettings.Version.tls12 < .tls13)
        #expect(PulseConfiguration().tls == .default)
    }
}
