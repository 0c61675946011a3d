// SPDX-License-Identifier: MIT

public import PulseCore

/// A download of a ``Downloads`` list. Safe from any thread.
///
/// Its calls may come at any time, also when they change nothing: a pause of a download that has ended, for example. If
/// the disk fails while a change is stored, the change still counts until the process ends, and the client emits a
/// ``NetworkEvent/warning(_:)``.
public final class Download: Sendable, Identifiable {
    /// What happens to a download.
    public enum Event: Sendable {
        /// It waits for its turn, for a connection, or for its account to be logged in again.
        case waiting
        /// Its transfer begins.
        case started
        /// How far it is.
        case progress(TransferProgress)
        /// It rests until ``Download/resume()``.
        case paused
        /// It has been resumed, and waits for its turn next.
        case resumed
        /// What had come was dropped, and comes again.
        case restarted(reason: String)
        /// The file is in place. The last event.
        case completed(URL)
        /// It has failed. ``Download/resume()`` tries it again. After a relaunch, the error is a
        /// ``PulseError/custom(_:)`` with the ``PulseError/Summary`` of the first one.
        case failed(PulseError)
        /// It has left the list without a file. The last event.
        case cancelled
    }

    /// Identifies the download in its list, also after a relaunch.
    public let id: UUID
    private let list: DownloadList
    // The newest events of a reader that does not keep up, at ten a second.
    private let broadcast: Broadcast<Event>

    init(_ id: UUID, _ list: DownloadList, _ event: Event) {
        self.id = id
        self.list = list
        broadcast = Broadcast(event, bufferSize: 64)
    }

    /// The latest event.
    public var latest: Event { broadcast.current }

    /// The events: the latest at once, then each new one. The stream ends with ``Event/completed(_:)``,
    /// ``Event/cancelled``, or the shutdown of the list. Each read of the property creates a new subscription; one that
    /// does not keep up loses the oldest events.
    public var events: AsyncStream<Event> { broadcast.updates() }

    /// Stops the transfer, and keeps what has come. Returns when it has stopped, and the pause is stored.
    public func pause() async {
        await list.pause(id)
    }

    /// Puts a paused or failed download in the line again, behind those that wait. One that waits for a connection or
    /// an account is tried now.
    public func resume() async {
        await list.resume(id)
    }

    /// Goes on with another request for the same content, as under a new signed URL; the file and the settings stay.
    /// The first request is stopped, if it runs.
    ///
    /// Throws the errors of a request that cannot be built or stored, as `add` does, and ``PulseError/cancelled`` once
    /// the download has ended.
    public func resume<E: Endpoint>(with endpoint: E, options: RequestOptions = RequestOptions()) async throws {
        try await list.resume(id, with: endpoint, options)
    }

    /// Goes on with another path or URL of the same content: `try await download.resume(with: signedURL)`. Does and
    /// throws the same.
    public func resume(with target: PathText, options: RequestOptions = RequestOptions()) async throws {
        try await resume(with: Request<EmptyResponse>(.get, target), options: options)
    }

    /// Takes the download off the list, and drops what has come. A file that is in place stays.
    public func cancel() async {
        await list.cancel(id)
    }

    /// Waits for the file. Throws the ``PulseError`` of a download that fails or has failed, and
    /// ``PulseError/cancelled`` if it is cancelled, the list is shut down, or the waiting task is cancelled. A pause is
    /// no end.
    public func file() async throws -> URL {
        for await event in events {
            switch event {
            case .completed(let file): return file
            case .failed(let error): throw error
            case .waiting, .started, .progress, .paused, .resumed, .restarted, .cancelled: break
            }
        }
        throw PulseError.cancelled
    }

    // MARK: For the list

    func tell(_ event: Event) {
        switch event {
        case .completed, .cancelled: broadcast.finish(with: event)
        default: broadcast.set(event)
        }
    }

    /// Ends the subscriptions.
    func close() {
        broadcast.finish(with: nil)
    }
}
