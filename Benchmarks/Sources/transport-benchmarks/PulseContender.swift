// SPDX-License-Identifier: MIT

import Contending
import PulseKit

/// PulseKit's client over one of its transports, with its default configuration except for the versions of HTTP.
struct PulseContender: Contender {
    let transport: any Transport
    let client: PulseClient

    /// - Parameter authority: the certificate authority that the client trusts. URLSession on Linux accepts none.
    init(
        _ transport: any Transport, server: URL, authority: Data? = nil,
        httpVersions: PulseConfiguration.HTTPVersions = .automatic
    ) {
        self.transport = transport
        let tls = authority.map { TLSSettings(certificateAuthorities: [$0]) } ?? .default
        client = PulseClient(
            configuration: PulseConfiguration(baseURL: server).with(\.tls, value: tls)
                .with(\.httpVersions, value: httpVersions),
            transport: transport)
    }

    func user(at url: URL) async throws -> User {
        try await client.request(GetUser())
    }

    func body(_ url: URL) async throws -> Int {
        try await client.rawRequest(URLRequest(url: url)).data.count
    }

    func stream(_ url: URL) async throws -> Int {
        var count = 0
        for try await chunk in try await client.bytes(url.absoluteString).bytes { count += chunk.count }
        return count
    }

    func lines(_ url: URL) async throws -> Int {
        var count = 0
        for try await line in client.lines(url.absoluteString) where !line.isEmpty { count += 1 }
        return count
    }

    func firstEvent(_ url: URL) async throws -> String {
        for try await event in client.serverSentEvents(url.absoluteString) { return event.data }
        throw WrongResponse()
    }

    func download(_ url: URL, to file: URL, sha256: String?, isReported: Bool) async throws {
        let digest = sha256.map { Download.Digest.sha256($0) }
        let options = Download.Options().with(\.digest, value: digest)
        guard isReported else {
            try await client.download(url, to: file, download: options)
            return
        }
        try await client.download(url, to: file, download: options) { precondition($0.completed >= 0) }
    }

    func upload(_ file: URL, to url: URL) async throws {
        try await client.upload(file, to: url)
    }
}

/// The endpoint of PulseKit's client.
struct GetUser: Endpoint {
    typealias Response = User
    let path = "/user"
}
