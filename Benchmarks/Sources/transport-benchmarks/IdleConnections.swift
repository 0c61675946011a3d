// SPDX-License-Identifier: MIT

import Dispatch
import Foundation
import PulseKit
import Reporting

/// What a connection over TLS costs that the HTTP/1.1 engine keeps for later requests.
struct IdleConnections: Codable {
    let count: Int
    /// Resident memory, for each.
    let kibibytes: Double

    /// Opens connections by as many requests at a time, and measures once all are idle.
    static func measured(server: URL, authority: Data?, count: Int) throws -> IdleConnections {
        let outcome = Outcome()
        let done = DispatchSemaphore(value: 0)
        Task {
            outcome.result = await Result { try await measure(server: server, authority: authority, count: count) }
            done.signal()
        }
        done.wait()
        return try outcome.result!.get()
    }

    private final class Outcome: @unchecked Sendable {
        // Unchecked: written before the semaphore is signaled, read after.
        var result: Result<IdleConnections, any Error>?
    }

    private static func measure(server: URL, authority: Data?, count: Int) async throws -> IdleConnections {
        let tls = authority.map { TLSSettings(certificateAuthorities: [$0]) } ?? .default
        let configuration = PulseConfiguration(baseURL: server).with(\.tls, value: tls)
            .with(\.httpVersions, value: .http1).with(\.maximumConnectionsPerHost, value: count)
        let client = PulseClient(configuration: configuration)
        // What the process loads once, and the memory of calls.
        _ = try await client.request(GetUser())
        let before = ResidentMemory.size ?? 0
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count { group.addTask { _ = try await client.request(GetUser()) } }
            try await group.waitForAll()
        }
        let grown = (ResidentMemory.size ?? 0) - before
        await client.shutdown()
        return IdleConnections(count: count, kibibytes: Double(grown) / 1024 / Double(count))
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
