// SPDX-License-Identifier: MIT

import Dispatch
import PulseCalls
public import PulseCore
import PulseObservability
import PulseStorage
import PulseTransports

/// File uploads and downloads that continue while the app is suspended or has ended, in a background `URLSession`.
///
/// ```swift
/// let background = BackgroundTransfers(identifier: "com.example.films", directory: directory)
/// let downloads = Downloads(directory: list, client: client, background: background)
/// try await downloads.start()
/// ```
///
/// Pass it to a ``Downloads`` list, or to ``PulseClient/upload(_:in:options:progress:)``. Create it once per launch,
/// with the same identifier and directory, and forward the launches for its events to
/// ``handleEvents(forSession:completion:)``.
///
/// Each request passes through the client's plugins once, when it is handed over to the system. Its response passes
/// through them when the app runs again: then a 401 refreshes the token, and a failure is retried by the retry policy.
///
/// Requires Apple's platforms: elsewhere every transfer throws ``PulseError/unsupported(_:)``, as does a client with
/// pinned keys, TLS settings or its own proxy on any platform. Safe to use from any thread.
public final class BackgroundTransfers: Sendable {
    /// The identifier of the session, for ``handleEvents(forSession:completion:)``.
    public let identifier: String

    private enum Opening {
        case none
        case running(Task<Void, any Error>)
        case done
    }

    /// The dependencies that tests replace.
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

    /// Creates the transfers, without starting anything.
    ///
    /// - Parameter identifier: unique among the sessions of the app.
    /// - Parameter directory: stores the state of the transfers, and their files until they are in place. It is created
    ///   if it is missing.
    /// - Parameter isDiscretionary: whether the system may choose a good time, such as when the device charges. A
    ///   transfer that is handed over in the background is always discretionary.
    /// - Parameter resourceTimeout: the time limit of each request in seconds from its hand-over, including the
    ///   system's own retries; seven days by default. It replaces the call's deadline, which ends with the hand-over.
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
        // Captures only parts of the surroundings: their registry retains the coordinator.
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

    /// Opens the session and takes over the transfers of earlier processes, so that the system's events find them. Each
    /// transfer does so itself if necessary.
    ///
    /// Throws ``TransferFailure/busy`` as the underlying error of ``PulseError/transport(_:underlying:)`` if the
    /// process has used the identifier before, since a session lasts as long as its process;
    /// ``PulseError/invalidRequest(reason:)`` for an empty identifier, a directory that is not a file URL, or a timeout
    /// that is not positive; ``TransferFailure/unusableDestination`` for a directory that cannot be used; and
    /// ``PulseError/unsupported(_:)`` without Apple's `URLSession`.
    public func start() async throws {
        let task = opening.withLock { opening -> Task<Void, any Error>? in
            switch opening {
            case .done: return nil
            case .running(let task): return task
            case .none:
                // Detached: the cancellation of one caller must not end the opening of others.
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
        let reply = Promise<Result<Void, any Error>>()
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
                // Before the session's events, which follow on the queue.
                surroundings.registry.open(identifier, owner).forEach { coordinator.handle(.launched($0)) }
                session.findTasks { [coordinator] tasks in
                    coordinator.list(tasks)
                    reply.fulfill(.success(()))
                }
            } catch {
                let isOfTheDisk = error is JournalFailure
                reply.fulfill(.failure(isOfTheDisk ? TransferFailure.unusableDestination.asPulseError : error))
            }
        }
        try await reply.value().get()
    }

    /// Handles the launch of the app for events of a background session. Call it from
    /// `application(_:handleEventsForBackgroundURLSession:completionHandler:)`.
    ///
    /// Wrap UIKit's closure, which is bound to no actor: `{ completionHandler() }`.
    ///
    /// The closure is called once, on the main thread: when all outcomes are stored and the calls that wait for them
    /// have processed them, or twenty seconds after the launch. The transfers of that identifier may be created and
    /// started afterwards, but must be: without them the system's events wait.
    @MainActor
    public static func handleEvents(forSession identifier: String, completion: @escaping @MainActor () -> Void) {
        BackgroundRegistry.process.launched(identifier) {
            Task { @MainActor in completion() }
        }
    }

    // MARK: For calls

    /// Hands over a request and waits for its outcome. Cancelling stops the transfer.
    func delivery(
        of handOver: BackgroundCoordinator.HandOver, progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> BackgroundCoordinator.Delivery {
        try await start()
        let isCancelled = Locked(Task.isCancelled)
        let isAccepted = Locked(false)
        let reply = Promise<Result<BackgroundCoordinator.Delivery, any Error>>()
        queue.async { [coordinator] in
            // The cancellation handler may have run before.
            if isCancelled.withLock({ $0 }) { return reply.fulfill(.failure(CancellationError())) }
            let accepts = coordinator.handOver(handOver, progress: progress) { reply.fulfill($0) }
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

    /// The name of a file, which stays the same when the app's container moves. The transfers must be started.
    func name(of file: URL) -> String { file.path(from: directory) }

    /// The file that receives the content of a transfer.
    func content(of id: String) -> URL { BackgroundDirectory(path: directory.path).content(of: id) }

    /// Ends a transfer whose result is in place.
    func settle(_ id: String) async {
        await onQueue { $0.settle(id) }
    }

    /// Ends a call without a final result, and leaves its transfer to the next call.
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
    /// Far less than the time limit of a launch.
    static let seconds: TimeInterval = 5
}
