// SPDX-License-Identifier: MIT

import Foundation
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import ServiceLifecycle

/// The endpoints of the tests on Hummingbird: one server in cleartext, one over TLS with HTTP/2. Each prints its name and port.
///
/// Usage: `hummingbird-server DIRECTORY`, with the certificates, and with `files` as its content.
@main
struct Program {
    static func main() async throws {
        let directory = URL(fileURLWithPath: CommandLine.arguments[1])
        let endpoints = try Endpoints(directory.appendingPathComponent("files"))
        let secure = try Self.secure(directory)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (name, builder) in [("plain", HTTPServerBuilder.http1()), ("tls", secure)] {
                let server = try builder.buildServer(
                    configuration: ServerConfiguration(address: .hostname("127.0.0.1", port: 0), backlog: 1024),
                    eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
                    logger: Logger(label: name)
                ) { (request, writer: consuming ResponseWriter, channel) in
                    try await endpoints.respond(to: request, writer, channel)
                } onServerRunning: { channel in
                    let line = "\(name) \(channel.localAddress?.port ?? 0)\n"
                    FileHandle.standardOutput.write(Data(line.utf8))
                }
                group.addTask { try await server.run() }
            }
            try await group.waitForAll()
        }
    }

    private static func secure(_ directory: URL) throws -> HTTPServerBuilder {
        let chain = try NIOSSLCertificate.fromPEMFile(directory.appendingPathComponent("server-chain.pem").path)
        let key = try NIOSSLPrivateKey(file: directory.appendingPathComponent("server.key").path, format: .pem)
        return try .http2Upgrade(
            tlsConfiguration: .makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key)))
    }
}
