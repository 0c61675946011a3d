// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulsePlugins
import PulseTesting
import PulseTransports
import TestSupport

@testable import PulseTransfers

/// What one process has.
struct BackgroundApp {
    let client: PulseClient
    let transfers: BackgroundTransfers
    let downloads: Downloads
    let registry: BackgroundRegistry
    let clock: TestClock
    let directory: URL

    func file(_ name: String) -> URL { directory.appendingPathComponent(name) }
}

/// Tokens that grow with each refresh, of the account that is logged in.
struct BackgroundTokens: TokenProvider {
    let current = Locked("t")
    let account = Locked<String?>("ada")

    func accessToken() async -> String? { current.withLock { $0 } }
    var accountID: String? { get async { account.withLock { $0 } } }

    func refreshToken() async throws -> String {
        current.withLock { token in
            token += "+"
            return token
        }
    }
}

/// A directory, which moves with each launch, as the containers of apps do.
final class BackgroundWorld: Sendable {
    let system = FakeBackgroundSystem()
    let root = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
    private let number = Locked(0)
    private let apps = Locked<[BackgroundApp]>([])

    var directory: URL { root.appendingPathComponent("\(number.withLock { $0 })") }

    /// - Parameter opening: is called when the session is made.
    func launch(
        plugins: [any PulsePlugin] = [], retry: RetryPolicy = .none,
        _ change: (PulseConfiguration) -> PulseConfiguration = { $0 },
        opening: @escaping @Sendable () throws -> Void = {}
    ) throws -> BackgroundApp {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let clock = TestClock()
        let configuration = PulseConfiguration(baseURL: URL(string: "https://example.com")!)
            .with(\.retryPolicy, value: retry).with(\.clock, value: clock)
        let client = ClientStage.client(change(configuration), plugins: plugins) { _ in throw URLError(.badURL) }
        let registry = BackgroundRegistry(clock: clock)
        let makeSession = system.sessionMaker
        let transfers = BackgroundTransfers(
            identifier: "test", directory: directory.appendingPathComponent("transfers"), BackgroundSettings(),
            BackgroundTransfers.Surroundings(
                makeSession: {
                    try opening()
                    return try makeSession($0, $1, $2, $3)
                }, registry: registry, clock: clock, events: PulseEventBus()))
        let downloads = Downloads(
            directory: directory.appendingPathComponent("list"), client: client, background: transfers)
        let app = BackgroundApp(
            client: client, transfers: transfers, downloads: downloads, registry: registry, clock: clock,
            directory: directory)
        apps.withLock { $0.append(app) }
        return app
    }

    /// The process ends now: what it does later happens in a directory that counts no more.
    func kill() throws {
        system.kill()
        let old = directory
        number.withLock { $0 += 1 }
        try FileManager.default.copyItem(at: old, to: directory)
    }

    func close() async {
        for app in apps.withLock({ $0 }) {
            await app.downloads.shutdown()
            await app.client.shutdown()
            // A task that sleeps for ever is a leak: its clock and it hold each other.
            await app.clock.advance(by: 3600)
        }
        // The system holds the session's owner, which holds the session.
        system.kill()
        try? FileManager.default.removeItem(at: root)
    }

    static func run(_ body: (BackgroundWorld) async throws -> Void) async throws {
        let world = BackgroundWorld()
        do {
            try await body(world)
            await world.close()
        } catch {
            await world.close()
            throw error
        }
    }
}

extension BackgroundEntry {
    /// The entry as a later process reads it.
    func coded() throws -> BackgroundEntry {
        try JSONDecoder().decode(BackgroundEntry.self, from: JSONEncoder().encode(self))
    }
}
