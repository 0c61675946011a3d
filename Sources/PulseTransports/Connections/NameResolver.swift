// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore

/// Resolves host names to addresses.
///
/// Each lookup runs on its own thread, because `getaddrinfo` blocks and cannot be cancelled. Lookups are single-flight:
/// all waiters for a name share one result. So a hanging name server costs one thread per name and delays no other
/// name. A cancelled waiter returns at once; the lookup runs to its end.
final class NameResolver: Sendable {
    typealias Outcome = Result<[SocketAddress], any Error>

    private struct State {
        /// The waiters of each name that is being looked up.
        var lookups: [String: [UInt64: @Sendable (Outcome) -> Void]] = [:]
        var nextID: UInt64 = 0
    }

    /// The resolver of all transports, which thus share lookups.
    static let shared = NameResolver()

    /// The maximum number of addresses of a name.
    private static let limit = 32

    private let lookUp: @Sendable (String) -> Outcome
    private let state = Locked(State())

    /// - Parameter lookUp: looks up a name and blocks meanwhile: the system's lookup, except in tests.
    init(lookUp: @escaping @Sendable (String) -> Outcome = system) {
        self.lookUp = lookUp
    }

    /// The addresses of a host, in the order in which to try them. Throws ``TransportFailure``, and
    /// `CancellationError`.
    ///
    /// IP address literals and `localhost` (RFC 6761, section 6.3) are not looked up.
    func addresses(of host: String, port: UInt16) async throws -> [SocketAddress] {
        if let address = SocketAddress(host, port: port) { return [address] }
        if Self.isLocalhost(host) { return ["::1", "127.0.0.1"].compactMap { SocketAddress($0, port: port) } }
        let found = try await found(host.asciiLowercased)
        return SocketAddress.interleaved(found).map { $0.with(port: port) }
    }

    /// The number of tasks that wait for a name; nil if it is not being looked up.
    func waiterCount(_ name: String) -> Int? {
        state.withLock { $0.lookups[name]?.count }
    }

    private static func isLocalhost(_ host: String) -> Bool {
        let name = (host.hasSuffix(".") ? String(host.dropLast()) : host).asciiLowercased
        return name == "localhost" || name.hasSuffix(".localhost")
    }

    private func found(_ name: String) async throws -> [SocketAddress] {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let outcome: Outcome = await withTaskCancellationHandler {
            await withFencedContinuation { resume in join(name, id, resume) }
        } onCancel: {
            state.withLock { $0.lookups[name]?.removeValue(forKey: id) }?(.failure(CancellationError()))
        }
        return try outcome.get()
    }

    private func join(_ name: String, _ id: UInt64, _ resume: @escaping @Sendable (Outcome) -> Void) {
        let isFirst = state.withLock { state -> Bool? in
            // An earlier cancellation found no waiter to resume.
            guard !Task.isCancelled else { return nil }
            let isFirst = state.lookups[name] == nil
            state.lookups[name, default: [:]][id] = resume
            return isFirst
        }
        guard let isFirst else { return resume(.failure(CancellationError())) }
        if isFirst { begin(name) }
    }

    private func begin(_ name: String) {
        let work = Work { self.end(name, self.lookUp(name)) }
        let context = Unmanaged.passRetained(work)
        let hasStarted = pulse_thread_start(
            { context in
                if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body() }
                return nil
            }, context.toOpaque())
        guard !hasStarted else { return }
        context.release()
        end(name, .failure(TransportFailure(code: .resourceUnavailable, phase: .beforeSend)))
    }

    private func end(_ name: String, _ outcome: Outcome) {
        let waiters = state.withLock { $0.lookups.removeValue(forKey: name) }
        waiters?.values.forEach { $0(outcome) }
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }

    static let system: @Sendable (String) -> Outcome = { name in
        var list = [pulse_address](repeating: pulse_address(), count: NameResolver.limit)
        var count: Int32 = 0
        let error = pulse_address_look_up(name, &list, Int32(NameResolver.limit), &count)
        guard error == 0 else { return .failure(ConnectionFailure.unresolved(error)) }
        return .success(list.prefix(Int(count)).map { SocketAddress($0) })
    }
}
#endif
