// SPDX-License-Identifier: MIT

import Dispatch
public import PulseCore
import PulseObservability
import PulseStorage
import PulseTransports

/// Uploads and downloads of files that go on while the app is suspended or has ended, in a background `URLSession`.
///
/// Give it to a ``Downloads`` list, or to ``PulseClient/upload(_:in:options:progress:)``. Create it once, at each
/// launch, with the same identifier and directory, and let ``handleEvents(forSession:completion:)`` have the launches
/// for its events.
///
/// Each request passes the client's plugins once, when it is handed over to the system. Its response passes them when
/// the app runs again: then a 401 gets a new token, and a failure another attempt, by the retry policy.
///
/// It needs Apple's platforms: elsewhere every transfer throws ``PulseError/unsupported(_:)``, as does a client with
/// pinned keys, TLS settings or a proxy of its own everywhere. Safe from any thread.
public final class BackgroundTransfers: Sendable {
    /// The identifier of the session, for ``handleEvents(forSession:completion:)``.
    public let identifier: String

    private enum Opening {
        case none
        case running(Task<Void, any Error>)
        case done
    }

    /// What tests replace.
    struct Surroundings: Sendable {
        var makeSession = SystemBackgroundSession.make
        var registry = BackgroundRegistry.process
        var clock: any PulseClock = .system
        var events: any EventSink = PulseEventBus.shared
    }

    private let directory: URL
    private let settings: BackgroundSettings
    private let surroundings: Surroundings
    private let queue: DispatchQueue
    private let coordinator: BackgroundCoordinator
    private let opening = Locked(Opening.none)

    /// Creates the transfers, which start nothing yet.
    ///
    /// - Parameter identifier: names the session among those of the app.
    /// - Parameter directory: for what is known of the transfers, and for their files until they are in place. It is
    ///   created if it is missing.
    /// - Parameter isDiscretionary: whether the system chooses a good time, such as when the device charges. A transfer
    ///   that is handed over in the background is discretionary in any case.
    /// - Parameter resourceTimeout: the seconds that the system gives each request from its hand-over, with its own
    ///   retries; seven days by default. They take the place of the call's deadline, which ends with the hand-over.
    public convenience init(
        identifier: String, directory: URL, isDiscretionary: Bool = false, resourceTimeout: TimeInterval = 604_800
    ) {
        var settings = BackgroundSettings()
        (settings.isDiscretionary, settings.resourceTimeout) = (isDiscretionary, resourceTimeout)
        self.init(identifier: identifier, directory: directory, settings, Surroundings())
    }

    init(identifier: String, directory: URL, _ settings: BackgroundSettings, _ surroundings: Surroundings) {
        self.identifier = identifier
        self.directory = directory.standardizedFileURL
        self.settings = settings
        self.surroundings = surroundings
        let queue = DispatchQueue(label: "PulseNetworking.BackgroundTransfers")
        self.queue = queue
        coordinator = Self.coordinator(BackgroundDirectory(path: self.directory.path), queue, surroundings)
    }

    private static func coordinator(
        _ storage: some BackgroundStorage, _ queue: DispatchQueue, _ surroundings: Surroundings
    ) -> BackgroundCoordinator {
        // Not all of the surroundings: their registry holds the coordinator.
        let (clock, events) = (surroundings.clock, surroundings.events)
        return BackgroundCoordinator(storage) { coordinator, wait in
            Task.detached {
                try? await clock.sleep(StateMachine.Wait.seconds, for: .timeout)
                queue.async { coordinator.waitIsOver(wait) }
            }
        } warn: { text in
            events.emit(.warning(text))
        }
    }

    /// Takes up what earlier processes have left, so that the system's events find their transfers. Each transfer does
    /// so by itself, if nothing did before.
    ///
    /// Throws ``TransferFailure/busy`` as the underlying error of ``PulseError/transport(_:underlying:)`` if the
    /// process has used the identifier before, since a session lasts as long as its process;
    /// ``PulseError/invalidRequest(reason:)`` for an empty identifier, a directory that is no file URL and a timeout
    /// that is no positive number;
    /// ``TransferFailure/unusableDestination`` for a directory that cannot be used; and ``PulseError/unsupported(_:)``
    /// without Apple's `URLSession`.
    public func start() async throws {
        let task = opening.withLock { opening -> Task<Void, any Error>? in
            switch opening {
            case .done: return nil
            case .running(let task): return task
            case .none:
                // Not the caller's: its cancellation would end the others' opening.
                let task = Task.detached { try await self.open() }
                opening = .running(task)
                return task
            }
        }
        do {
            try await task?.value
        } catch {
            throw PulseError(wrapping: error)
        }
    }

    private func open() async throws {
        do {
            guard !identifier.isEmpty else {
                throw PulseError.invalidRequest(reason: "the identifier of a background session is empty")
            }
            guard directory.isFileURL else {
                throw PulseError.invalidRequest(reason: "the directory of background transfers is no file URL")
            }
            guard settings.resourceTimeout > 0 else {
                throw PulseError.invalidRequest(
                    reason: "the resource timeout of background transfers is \(settings.resourceTimeout)")
            }
            try surroundings.registry.claim(identifier)
            do {
                try await findTasks()
            } catch {
                surroundings.registry.release(identifier)
                throw error
            }
            opening.withLock { $0 = .done }
        } catch {
            opening.withLock { $0 = .none }
            throw error
        }
    }

    private func findTasks() async throws {
        let reply = PendingReply<Result<Void, any Error>>()
        queue.async { [self] in
            do {
                try coordinator.load()
                if let warning = SystemFile.exposureWarning(directory.path, of: "background transfers") {
                    surroundings.events.emit(.warning(warning))
                }
                let session = try surroundings.makeSession(identifier, settings, queue) { [coordinator] event in
                    coordinator.handle(event)
                }
                coordinator.use(session)
                let owner: BackgroundRegistry.Owner = { [queue, coordinator] event in
                    queue.async { coordinator.handle(event) }
                }
                // Before the session's events, which are behind on the queue.
                surroundings.registry.open(identifier, owner).forEach { coordinator.handle(.launched($0)) }
                session.findTasks { [coordinator] tasks in
                    coordinator.list(tasks)
                    reply.give(.success(()))
                }
            } catch {
                let isOfTheDisk = error is JournalFailure
                reply.give(.failure(isOfTheDisk ? TransferFailure.unusableDestination.asPulseError : error))
            }
        }
        try await reply.value().get()
    }

    /// Takes the launch of the app for events of a background session, from
    /// `application(_:handleEventsForBackgroundURLSession:completionHandler:)`.
    ///
    /// Wrap UIKit's closure, which is bound to no actor: `{ completionHandler() }`.
    ///
    /// The closure is called once, on the main thread: when all outcomes are stored, and the calls that wait for them
    /// have judged them, or twenty seconds after the launch. The transfers of that identifier may be created and
    /// started afterwards, but must be: without them the system's events wait.
    @MainActor
    public static func handleEvents(forSession identifier: String, completion: @escaping @MainActor () -> Void) {
        BackgroundRegistry.process.launched(identifier) {
            Task { @MainActor in completion() }
        }
    }

    // MARK: For calls

    /// Hands over a request, and waits for what the system makes of it. Cancelling stops the transfer.
    func delivery(
        of handOver: BackgroundCoordinator.HandOver, progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> BackgroundCoordinator.Delivery {
        try await start()
        let isCancelled = Locked(Task.isCancelled)
        let isAccepted = Locked(false)
        let reply = PendingReply<Result<BackgroundCoordinator.Delivery, any Error>>()
        queue.async { [coordinator] in
            // The cancellation may have looked for the call before.
            if isCancelled.withLock({ $0 }) { return reply.give(.failure(CancellationError())) }
            let accepts = coordinator.handOver(handOver, progress: progress) { reply.give($0) }
            isAccepted.withLock { $0 = accepts }
        }
        return try await reply.value {
            isCancelled.withLock { $0 = true }
            queue.async { [coordinator] in
                // Otherwise the transfer is another call's.
                if isAccepted.withLock({ $0 }) { coordinator.stopWaiting(handOver.entry.id) }
            }
        }.get()
    }

    /// What names a file, also when the app's container has moved. The transfers must be started.
    func name(of file: URL) -> String { file.path(from: directory) }

    /// The file that the content of a transfer comes to.
    func content(of id: String) -> URL { BackgroundDirectory(path: directory.path).content(of: id) }

    /// The result of a transfer is stored where it belongs.
    func settle(_ id: String) async {
        await onQueue { $0.settle(id) }
    }

    /// A call ends without a result that counts.
    func leave(_ id: String) async {
        await onQueue { $0.leave(id) }
    }

    /// Drops a transfer.
    func forget(_ id: String) async {
        await onQueue { $0.forget(id) }
    }

    private func onQueue(_ body: @escaping @Sendable (BackgroundCoordinator) -> Void) async {
        await withCheckedContinuation { continuation in
            queue.async { [coordinator] in
                body(coordinator)
                continuation.resume()
            }
        }
    }
}

extension BackgroundTransfers.StateMachine.Wait {
    /// Far less than a launch has.
    static let seconds: TimeInterval = 5
}
