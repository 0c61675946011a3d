// SPDX-License-Identifier: MIT

#if os(Linux)
import Dispatch
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.tags(.threads, .addresses), .throttled)
struct NameResolverTests {
    private let server = HeldNameServer()

    private func task(_ name: String) -> Task<[String], any Error> {
        Task.startingNow { [server] in
            try await server.resolver.addresses(of: name, port: 80).compactMap(\.text)
        }
    }

    @Test func lookupsOfANameShareOne() async throws {
        let tasks = (0..<50).map { _ in task("a.test") } + [task("A.test")]
        await server.begun(atLeast: 1)
        while server.resolver.waiterCount("a.test") != tasks.count { await Task.yield() }
        server.release("a.test")
        for task in tasks {
            let addresses = try await task.value
            #expect(addresses == ["10.0.0.1", "::2"])
        }
        #expect(server.names == ["a.test"] && server.resolver.waiterCount("a.test") == nil)
    }

    @Test func aLookupAfterTheEndOfAnotherBegins() async throws {
        server.release("a.test", "a.test")
        _ = try await task("a.test").value
        _ = try await task("a.test").value
        #expect(server.names == ["a.test", "a.test"])
    }

    /// A name server that does not respond holds up no other name.
    @Test func hangingLookupsHoldUpNoOthers() async throws {
        let hanging = (0..<100).map { task("hanging\($0).test") }
        await server.begun(atLeast: 100)
        server.release("a.test")
        let addresses = try await task("a.test").value
        #expect(addresses == ["10.0.0.1", "::2"])
        for index in hanging.indices { server.release("hanging\(index).test") }
        for task in hanging { _ = try await task.value }
    }

    @Test func aCancelledWaiterLeavesAtOnce() async throws {
        let (stays, leaves) = (task("a.test"), task("a.test"))
        while server.resolver.waiterCount("a.test") != 2 { await Task.yield() }
        leaves.cancel()
        await #expect(throws: CancellationError.self) { try await leaves.value }
        #expect(server.resolver.waiterCount("a.test") == 1)
        server.release("a.test")
        _ = try await stays.value
    }

    /// The lookup cannot be ended. A later waiter joins it.
    @Test func aLookupWithoutWaitersHasTheNextOnes() async throws {
        let first = task("a.test")
        await server.begun(atLeast: 1)
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(server.resolver.waiterCount("a.test") == 0)
        let second = task("a.test")
        while server.resolver.waiterCount("a.test") != 1 { await Task.yield() }
        server.release("a.test")
        _ = try await second.value
        #expect(server.names == ["a.test"])
    }

    @Test func aCancelledTaskLooksNothingUp() async {
        let cancelled = Task { [server] in
            withUnsafeCurrentTask { $0?.cancel() }
            return try await server.resolver.addresses(of: "a.test", port: 80)
        }
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(server.names == [])
    }

    @Test func aFailureIsThatOfAllWaiters() async throws {
        let failing = NameResolver { _ in
            .failure(TransportFailure(code: .cannotFindHost, phase: .beforeSend))
        }
        for _ in 0..<2 {
            let failure = await #expect(throws: TransportFailure.self) {
                try await failing.addresses(of: "a.test", port: 1)
            }
            #expect(failure?.code == .cannotFindHost)
        }
        #expect(failing.waiterCount("a.test") == nil)
    }

    @Test(
        arguments: [
            ("127.0.0.1", ["127.0.0.1"]), ("::1", ["::1"]), ("fe80::1%lo", ["fe80::1"]),
            ("localhost", ["::1", "127.0.0.1"]), ("LocalHost.", ["::1", "127.0.0.1"]),
            ("a.localhost", ["::1", "127.0.0.1"]),
        ])
    func addressesAndLocalNamesAreNotLookedUp(host: String, addresses: [String]) async throws {
        let found = try await server.resolver.addresses(of: host, port: 80).compactMap(\.text)
        #expect(found == addresses && server.names == [])
    }

    /// The system's own lookup, in its table of hosts.
    @Test func theSystemFindsThisMachine() async throws {
        let outcome = NameResolver.system("localhost")
        let addresses = try outcome.get().compactMap(\.text)
        #expect(!addresses.isEmpty && addresses.allSatisfy { ["127.0.0.1", "::1"].contains($0) })
    }
}

/// A name server that responds to each lookup once it is allowed to.
final class HeldNameServer: Sendable {
    private struct State {
        var names: [String] = []
        var gates: [String: DispatchSemaphore] = [:]

        mutating func gate(_ name: String) -> DispatchSemaphore {
            let gate = gates[name] ?? DispatchSemaphore(value: 0)
            gates[name] = gate
            return gate
        }
    }

    let resolver: NameResolver
    private let state: Locked<State>

    /// - Parameter addresses: of each name.
    init(_ addresses: [String] = ["10.0.0.1", "::2"]) {
        let state = Locked(State())
        self.state = state
        resolver = NameResolver { name in
            let gate = state.withLock { state in
                state.names.append(name)
                return state.gate(name)
            }
            gate.wait()
            return .success(addresses.compactMap { SocketAddress($0) })
        }
    }

    /// The names that were looked up, in order.
    var names: [String] { state.withLock { $0.names } }

    func begun(atLeast count: Int) async {
        while names.count < count, !Task.isCancelled { await Task.yield() }
    }

    /// Lets a lookup of each name end.
    func release(_ names: String...) {
        for name in names { state.withLock { $0.gate(name) }.signal() }
    }
}
#endif
