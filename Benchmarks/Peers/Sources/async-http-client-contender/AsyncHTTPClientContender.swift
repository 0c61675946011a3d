// SPDX-License-Identifier: MIT

import AsyncHTTPClient
import Contending
import Foundation
import NIOCore
import NIOFoundationCompat
import NIOPosix

/// AsyncHTTPClient, as its documentation uses it: execute, collect the body, decode it with one decoder for all.
@main
struct AsyncHTTPClientContender: Contender {
    private let client: HTTPClient
    private let decoder = JSONDecoder()

    /// The first argument selects it: `shared`, or `configured` with as many connections as requests.
    static func main() throws {
        let isShared = CommandLine.arguments.dropFirst().first == "shared"
        try Stage.perform(AsyncHTTPClientContender(client: isShared ? .shared : configured()))
    }

    private static func configured() -> HTTPClient {
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.httpVersion = .http1Only
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
        let group = MultiThreadedEventLoopGroup(numberOfThreads: System.coreCount)
        return HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
    }

    func user(at url: URL) async throws -> User {
        let response = try await client.execute(HTTPClientRequest(url: url.absoluteString), timeout: .seconds(30))
        guard response.status == .ok else { throw WrongResponse() }
        return try decoder.decode(User.self, from: try await response.body.collect(upTo: 1 << 20))
    }

    func stream(_ url: URL) async throws -> Int {
        let response = try await client.execute(HTTPClientRequest(url: url.absoluteString), timeout: .minutes(5))
        var count = 0
        for try await chunk in response.body { count += chunk.readableBytes }
        return count
    }
}
