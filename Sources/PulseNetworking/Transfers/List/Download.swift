// SPDX-License-Identifier: MIT

public import PulseCore

/// A download of a ``Downloads`` list. Safe to use from any thread.
///
/// Its methods may be called at any time, even without effect: a pause of a download that has ended, for example. If
/// the disk fails while a change is stored, the change still counts until the process ends, and the client emits a
/// ``NetworkEvent/warning(_:)``.
public final class Download: Sendable, Identifiable {
    /// A state change of a download, or its progress.
    public enum Event: Sendable {
        /// It waits for a free slot, for a connection, or for its account to be logged in again.
        case waiting
        /// Its transfer has started.
        case started
        /// The progress of its transfer.
        case progress(TransferProgress)
        /// It is paused until ``Download/resume()``.
        case paused
        /// It has been resumed; `waiting` follows.
        case resumed
        /// The received bytes were dropped, and the transfer starts over.
        case restarted(reason: String)
        /// The file is in place. The last event.
        case completed(URL)
        /// It has failed. ``Download/resume()`` retries it. After a relaunch, the error is a ``PulseError/custom(_:)``
        /// with the ``PulseError/Summary`` of the original one.
        case failed(PulseError)
        /// It has left the list without a file. The last event.
        case cancelled
    }

    /// Identifies the download in its list, also after a relaunch.
    public let id: UUID
    private let list: DownloadList
    // Buffers the newest events for a slow reader, at ten a second.
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
    /// does not keep up misses the oldest events.
    public var events: AsyncStream<Event> { broadcast.updates() }

    /// Stops the transfer and keeps the received bytes. Returns once it has stopped and the pause is stored.
    public func pause() async {
        await list.pause(id)
    }

    /// Queues a paused or failed download again, behind those that wait. One that waits for a connection or an account
    /// is tried now.
    public func resume() async {
        await list.resume(id)
    }

    /// Resumes with another request for the same content, such as a new signed URL; the file and the settings stay the
    /// same. A running request is stopped.
    ///
    /// Throws the errors of a request that cannot be built or stored, as `add` does, and ``PulseError/cancelled`` once
    /// the download has ended.
    public func resume<E: Endpoint>(with endpoint: E, options: RequestOptions = RequestOptions()) async throws {
        try await list.resume(id, with: endpoint, options)
    }

    /// Resumes with another path or URL of the same content: `try await download.resume(with: signedURL)`. Otherwise
    /// the same as for an endpoint.
    public func resume(with target: PathText, options: RequestOptions = RequestOptions()) async throws {
        try await resume(with: Request<EmptyResponse>(.get, target), options: options)
    }

    /// Removes the download from the list, and deletes its partial file. A completed file stays.
    public func cancel() async {
        await list.cancel(id)
    }

    /// Waits for the file. Throws the ``PulseError`` of a download that fails or has failed, and
    /// ``PulseError/cancelled`` if it is cancelled, the list is shut down, or the waiting task is cancelled. A pause
    /// does not end the wait.
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
