// SPDX-License-Identifier: MIT

import AsyncHTTPClient
import Contending
import Foundation
import NIOCore
import NIOFoundationCompat
import NIOPosix
import NIOSSL

/// AsyncHTTPClient, as its documentation uses it: execute, collect the body, decode it with one decoder for all.
@main
struct AsyncHTTPClientContender: Contender {
    private let client: HTTPClient
    private let decoder = JSONDecoder()

    /// The first argument selects it: `shared`; `configured` with as many HTTP/1.1 connections as requests; or `http2`.
    static func main() throws {
        let client: HTTPClient =
            switch CommandLine.arguments.dropFirst().first {
            case "shared": .shared
            case "http2": try configured(.automatic)
            default: try configured(.http1Only)
            }
        try Stage.perform(AsyncHTTPClientContender(client: client))
    }

    private static func configured(_ version: HTTPClient.Configuration.HTTPVersion) throws -> HTTPClient {
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.httpVersion = version
        if let authority = ProcessInfo.processInfo.environment["PULSE_AUTHORITY"] {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(authority)
            configuration.tlsConfiguration = tls
        }
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
        let group = MultiThreadedEventLoopGroup(numberOfThreads: System.coreCount)
        return HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
    }

    func user(at url: URL) async throws -> User {
        let response = try await client.execute(HTTPClientRequest(url: url.absoluteString), timeout: .seconds(30))
        guard response.status == .ok else { throw WrongResponse() }
        return try decoder.decode(User.self, from: try await response.body.collect(upTo: 1 << 20))
    }

    func body(_ url: URL) async throws -> Int {
        let response = try await client.execute(HTTPClientRequest(url: url.absoluteString), timeout: .seconds(30))
        guard response.status == .ok else { throw WrongResponse() }
        let body = try await response.body.collect(upTo: 2 << 20)
        // As PulseKit returns it.
        return Data(buffer: body).count
    }

    func stream(_ url: URL) async throws -> Int {
        let response = try await client.execute(HTTPClientRequest(url: url.absoluteString), timeout: .minutes(5))
        var count = 0
        for try await chunk in response.body { count += chunk.readableBytes }
        return count
    }

    func upload(_ file: URL, to url: URL) async throws {
        var request = HTTPClientRequest(url: url.absoluteString)
        request.method = .PUT
        let size = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int64
        request.body = .stream(Pieces(file: file), length: size.map { .known($0) } ?? .unknown)
        let response = try await client.execute(request, timeout: .minutes(5))
        guard [.created, .noContent].contains(response.status) else { throw WrongResponse() }
    }

    /// A file, piece by piece.
    private struct Pieces: AsyncSequence, Sendable {
        let file: URL

        struct Iterator: AsyncIteratorProtocol {
            let handle: FileHandle?

            func next() async throws -> ByteBuffer? {
                guard let piece = try handle?.read(upToCount: 256 << 10), !piece.isEmpty else { return nil }
                return ByteBuffer(data: piece)
            }
        }

        func makeAsyncIterator() -> Iterator { Iterator(handle: try? FileHandle(forReadingFrom: file)) }
    }

    func lines(_ url: URL) async throws -> Int {
        let response = try await client.execute(HTTPClientRequest(url: url.absoluteString), timeout: .minutes(5))
        var loop = LineLoop()
        var count = 0
        for try await chunk in response.body { count += loop.count(in: chunk.readableBytesView) }
        return count
    }

    /// It has no event streams: the first line is found by hand, which is less than parsing an event.
    func firstEvent(_ url: URL) async throws -> String {
        var request = HTTPClientRequest(url: url.absoluteString)
        request.headers.add(name: "Accept", value: "text/event-stream")
        let response = try await client.execute(request, timeout: .minutes(5))
        guard response.status == .ok, response.headers.first(name: "Content-Type") == "text/event-stream" else {
            throw WrongResponse()
        }
        var received = [UInt8]()
        for try await chunk in response.body {
            received.append(contentsOf: chunk.readableBytesView)
            if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
                return String(decoding: received[..<end], as: UTF8.self)
            }
        }
        throw WrongResponse()
    }
}
