// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// The thread that waits for all transfers of a transport. It runs as long as this object is held.
final class CurlLoop: Sendable {
    private let engine: CurlEngine

    /// Starts the thread. Throws ``TransportFailure`` if the system has no descriptors left.
    init(_ library: CurlLibrary, connections: Int) throws {
        guard let poller = pulse_loop_create(connections) else {
            throw TransportFailure(code: .resourceUnavailable, phase: .beforeSend)
        }
        let engine = CurlEngine(library, poller)
        self.engine = engine
        let thread = Thread { engine.run() }
        thread.name = "PulseKit.curl"
        thread.start()
    }

    deinit {
        engine.close()
    }

    /// Whether the server of an origin requires HTTP/1.1, as it has said over HTTP/2 (RFC 9113, section 7).
    func needsHTTP1(_ origin: Origin) -> Bool {
        engine.origins.withLock { !$0.isEmpty && $0.contains(origin) }
    }

    func noteHTTP1(_ origin: Origin) {
        engine.origins.withLock { origins in
            // The servers repeat the requirement.
            if origins.count >= CurlEngine.originLimit { origins.removeAll() }
            origins.insert(origin)
        }
    }

    /// Opens a cleartext connection to the server of a URL and hands it over.
    func connect(
        to server: String, for request: TransportRequest, id: UInt64, queued: TimeInterval
    ) async throws -> CurlTransfer.Connected {
        let transfer = try transfer(for: CurlRequest(connectingTo: server, for: request), id: id)
        _ = try await run(transfer, id: id)
        defer { reuse(transfer) }
        return try transfer.connected(queued: queued)
    }

    /// Opens a connection that stays with its handle, for one upgrade.
    func link(
        to server: String, isSecure: Bool, _ unixSocketPath: String?, for request: TransportRequest, id: UInt64,
        queued: TimeInterval
    ) async throws -> CurlTransfer.Connected {
        let outgoing = try CurlRequest(
            linkingTo: server, isSecure: isSecure, unixSocketPath: unixSocketPath, for: request)
        let transfer = try transfer(for: outgoing, id: id)
        do {
            _ = try await run(transfer, id: id)
        } catch let error as CurlFailure.Unpinned {
            throw request.pinningFailure(error.keys)
        }
        if let keys = transfer.progress.unpinnedKeys { request.tellUnpinned(keys) }
        return try transfer.connected(queued: queued)
    }

    /// A transfer that is configured for a request. Throws ``TransportFailure`` without memory, and ``PulseError`` for
    /// what this libcurl does not support.
    func transfer(for request: CurlRequest, id: UInt64) throws -> CurlTransfer {
        let idle = request.hasLink ? nil : engine.idle.withLock { $0?.popLast() }
        guard let transfer = idle ?? CurlTransfer(request, engine.environment) else {
            throw TransportFailure(code: .resourceUnavailable, phase: .beforeSend)
        }
        try transfer.prepare(request, id: id)
        return transfer
    }

    /// Takes back a transfer whose response was read, or which has failed and left the loop.
    func reuse(_ transfer: CurlTransfer) {
        // Its handle keeps its connection, if it has one.
        guard !transfer.hasLink else { return }
        transfer.rest()
        let surplus = engine.idle.withLock { idle -> CurlTransfer? in
            guard CurlLibrary.reusesHandles, let count = idle?.count, count < CurlEngine.idleLimit else {
                return transfer
            }
            idle?.append(transfer)
            return nil
        }
        withExtendedLifetime(surplus) {}
    }

    /// Runs a transfer until its response is available: complete, or the head of a streamed one.
    func run(_ transfer: CurlTransfer, id: UInt64) async throws -> CurlTransfer.Reply {
        await withTaskCancellationHandler {
            await withCheckedContinuation { engine.start(transfer, $0) }
        } onCancel: { [engine] in
            engine.tell(.cancel(id))
        }
        do {
            return try transfer.replySlot.take().get()
        } catch {
            // A failure leaves no settings on the handle.
            transfer.appliedSettings = nil
            if !transfer.isAbandoned { reuse(transfer) }
            throw error
        }
    }

    /// Ends a transfer, if it is under way.
    func cancel(_ id: UInt64) {
        engine.tell(.cancel(id))
    }

    /// Resumes a transfer that waits for a pipe.
    func resume(_ id: UInt64) {
        engine.tell(.resume(id))
    }

    /// Ends all transfers, closes all connections and waits for the end of the thread.
    func shutdown() async {
        engine.close()
        await engine.threadEnd.wait()
    }
}
#endif
