// SPDX-License-Identifier: MIT

public import PulseCore

/// A list of downloads on disk that survives the end of the process.
///
/// Each download is one of ``PulseClient``, with its rules for files, resuming and digests. Up to a number of them run
/// at once; the others wait in the order of their addition. Create one list for a directory, keep it as long as its
/// downloads shall run, and call ``start()`` after each launch: what was under way then goes on where it was.
///
/// Stored are the requests as they were built, before any plugin has seen them, and never a secret header. Each request
/// is sent with all plugins of the client, with a fresh token, but without those of its endpoint. Of the options, the
/// timeout, the deadline, `auth`, the tag and the route are stored; the others are those of the client. A download
/// belongs to the account that was logged in when it was added: while another one is, it waits, and asks once a minute.
///
/// A download without a connection waits for one. `cancelAll` and the shutdown of the client pause all downloads until
/// ``Download/resume()`` or the next ``start()``.
///
/// Safe from any thread. Methods throw ``PulseError``; a disk failure is a `JournalFailure` in a
/// ``PulseError/custom(_:)``.
public final class Downloads: Sendable {
    private let list: DownloadList

    /// Creates a list that reads and writes nothing yet.
    ///
    /// - Parameter directory: for the list itself; it is created if it is missing. Files are where they are asked for.
    /// - Parameter client: sends the requests. The list does not shut it down.
    /// - Parameter maximumConcurrent: how many downloads run at once, at least 1.
    /// - Parameter background: lets the downloads go on while the app is suspended or has ended; nil, the default, runs
    ///   them in the process. In the background only `maximumConcurrent` downloads are handed over to the system at a
    ///   time. A download with a request body, and what ``BackgroundTransfers`` cannot enforce, fail as
    ///   ``PulseError/unsupported(_:)``.
    public init(
        directory: URL, client: PulseClient, maximumConcurrent: Int = 3, background: BackgroundTransfers? = nil
    ) {
        list = DownloadList(directory, client, maximumConcurrent: maximumConcurrent, background)
    }

    deinit {
        list.abandon()
    }

    /// Opens the list, and goes on with what was under way when the process ended. If it is open, goes on with what
    /// others than ``Download/pause()`` have stopped.
    ///
    /// Throws ``TransferFailure/busy`` as the underlying error of ``PulseError/transport(_:underlying:)`` while another
    /// list, in any process, has the directory open; ``PulseError/invalidRequest(reason:)`` for a directory that is no
    /// file URL, or a number below 1; and ``PulseError/cancelled`` after ``shutdown()``.
    public func start() async throws {
        if try await list.open() { list.resumeStopped() }
    }

    /// The downloads in the order of their addition: all that have not been cancelled. Those that have completed stay
    /// until ``Download/cancel()`` takes them off. Empty before ``start()`` and after ``shutdown()``.
    public var all: [Download] { list.all }

    /// Adds a download to a file. It is stored when this method returns. Opens the list if necessary.
    ///
    /// Throws what ``start()`` throws, the error of a request that cannot be built, and:
    /// - ``PulseError/unsupported(_:)`` for a secret header of the endpoint or its options, which a plugin or the
    ///   default headers should set instead, and for a request body that is a file or a stream;
    /// - ``PulseError/invalidRequest(reason:)`` for a target that is no file URL, and settings that cannot be;
    /// - ``TransferFailure/busy`` for the target of another download of the list that has not completed, and for the
    ///   same content into the same directory.
    @discardableResult
    public func add<E: Endpoint>(
        _ endpoint: E, to file: URL, download: Download.Options = Download.Options(),
        options: RequestOptions = RequestOptions()
    ) async throws -> Download {
        try await list.add(endpoint, .file(file), download, options)
    }

    /// Adds a download into a directory, under the name that the server suggests. Does and throws the same.
    @discardableResult
    public func add<E: Endpoint>(
        _ endpoint: E, into directory: URL, download: Download.Options = Download.Options(),
        options: RequestOptions = RequestOptions()
    ) async throws -> Download {
        try await list.add(endpoint, .directory(directory), download, options)
    }

    /// Adds a download of a path or a URL to a file: `try await downloads.add("/films/1", to: file)`. The path, its
    /// values, the query and the headers are those of `get`. Does and throws the same.
    @discardableResult
    public func add(
        _ target: PathText, path values: PulseClient.PathValues = [:], query: PulseClient.QueryValues = [:],
        headers: [String: String] = [:], to file: URL, download: Download.Options = Download.Options(),
        options: RequestOptions = RequestOptions()
    ) async throws -> Download {
        let endpoint = Verb<EmptyResponse>(.get, target, values, query: query, headers: headers)
        return try await add(endpoint, to: file, download: download, options: options)
    }

    /// Adds a download of a path or a URL into a directory, under the name that the server suggests. Does and throws
    /// the same.
    @discardableResult
    public func add(
        _ target: PathText, path values: PulseClient.PathValues = [:], query: PulseClient.QueryValues = [:],
        headers: [String: String] = [:], into directory: URL, download: Download.Options = Download.Options(),
        options: RequestOptions = RequestOptions()
    ) async throws -> Download {
        let endpoint = Verb<EmptyResponse>(.get, target, values, query: query, headers: headers)
        return try await add(endpoint, into: directory, download: download, options: options)
    }

    /// Stops all transfers, keeps what has come, and closes the list. The next list of the directory goes on with what
    /// was under way. A list that is freed does the same by itself, but nothing waits for it.
    public func shutdown() async {
        await list.close()
    }
}
