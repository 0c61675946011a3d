// SPDX-License-Identifier: MIT

public import PulseCalls
public import PulseCore

/// A list of downloads on disk that survives the end of the process.
///
/// ```swift
/// let downloads = Downloads(directory: directory, client: client)
/// try await downloads.start()
/// let download = try await downloads.add("/films/1", to: file)
/// ```
///
/// Each download follows the rules of ``PulseClient`` for files, resuming and digests. A limited number of them run at
/// once; the others wait in the order in which they were added. Create one list for a directory, retain it while its
/// downloads should run, and call ``start()`` after each launch to resume unfinished downloads.
///
/// The list stores the requests as built, before any plugin runs, and never a secret header. Each request is sent with
/// all plugins of the client, with a fresh token, but without those of its endpoint. Of the options, only the timeout,
/// the deadline, `auth`, the tag and the route are stored; the others are the client's. A download belongs to the
/// account that was logged in when it was added: while another one is, it waits, and tries again once a minute.
///
/// A download without a connection waits for one. `cancelAll` and the shutdown of the client pause all downloads until
/// ``Download/resume()`` or the next ``start()``.
///
/// Safe to use from any thread. Methods throw ``PulseError``; a disk failure is a `JournalFailure` in a
/// ``PulseError/custom(_:)``.
public final class Downloads: Sendable {
    private let list: DownloadList

    /// Creates a list, without reading or writing anything.
    ///
    /// - Parameter directory: stores the list itself; it is created if it is missing. Files go to their own targets.
    /// - Parameter client: sends the requests. The list does not shut it down.
    /// - Parameter maxConcurrent: maximum number of downloads that run at once, at least 1.
    /// - Parameter background: continues the downloads while the app is suspended or has ended; nil, the default, runs
    ///   them in the process. Only `maxConcurrent` downloads are handed over to the system at a time. A download
    ///   with a request body, or with settings that ``BackgroundTransfers`` cannot enforce, fails with
    ///   ``PulseError/unsupported(_:)``.
    public init(
        directory: URL, client: PulseClient, maxConcurrent: Int = 3, background: BackgroundTransfers? = nil
    ) {
        list = DownloadList(directory, client, maxConcurrent: maxConcurrent, background)
    }

    deinit {
        list.abandon()
    }

    /// Opens the list and resumes the downloads that were unfinished when the process ended. If the list is open,
    /// resumes those that were stopped by anything other than ``Download/pause()``.
    ///
    /// Throws ``TransferFailure/busy`` as the underlying error of ``PulseError/transport(_:underlying:)`` while another
    /// list, in any process, has the directory open; ``PulseError/invalidRequest(reason:)`` for a directory that is not
    /// a file URL, or a `maxConcurrent` below 1; and ``PulseError/cancelled`` after ``shutdown()``.
    public func start() async throws {
        if try await list.open() { list.resumeStopped() }
    }

    /// The downloads in the order in which they were added, except cancelled ones. Completed ones stay until
    /// ``Download/cancel()`` removes them. Empty before ``start()`` and after ``shutdown()``.
    public var all: [Download] { list.all }

    /// Adds a download to a file. It is stored when this method returns. Opens the list if necessary.
    ///
    /// Throws what ``start()`` throws, the error of a request that cannot be built, and:
    /// - ``PulseError/unsupported(_:)`` for a secret header of the endpoint or its options, which a plugin or the
    ///   default headers should set instead, and for a request body that is a file or a stream;
    /// - ``PulseError/invalidRequest(reason:)`` for a target that is not a file URL, and for invalid settings;
    /// - ``TransferFailure/busy`` for the target of another download of the list that has not completed, and for the
    ///   same content into the same directory.
    @discardableResult
    public func add<E: Endpoint>(
        _ endpoint: E, to file: URL, download: Download.Options = Download.Options(),
        options: RequestOptions = RequestOptions()
    ) async throws -> Download {
        try await list.add(endpoint, .file(file), download, options)
    }

    /// Adds a download into a directory, under the name that the server suggests. Otherwise the same as to a file.
    @discardableResult
    public func add<E: Endpoint>(
        _ endpoint: E, into directory: URL, download: Download.Options = Download.Options(),
        options: RequestOptions = RequestOptions()
    ) async throws -> Download {
        try await list.add(endpoint, .directory(directory), download, options)
    }

    /// Adds a download of a path or a URL to a file: `try await downloads.add("/films/1", to: file)`. The path, its
    /// values, the query and the headers are as in `get`, the rest as for an endpoint.
    @discardableResult
    public func add(
        _ target: PathText, path values: PulseClient.PathValues = [:], query: PulseClient.QueryValues = [:],
        headers: [String: String] = [:], to file: URL, download: Download.Options = Download.Options(),
        options: RequestOptions = RequestOptions()
    ) async throws -> Download {
        let endpoint = Verb<EmptyResponse>(.get, target, values, query: query, headers: headers)
        return try await add(endpoint, to: file, download: download, options: options)
    }

    /// Adds a download of a path or a URL into a directory, under the name that the server suggests. Otherwise the same
    /// as to a file.
    @discardableResult
    public func add(
        _ target: PathText, path values: PulseClient.PathValues = [:], query: PulseClient.QueryValues = [:],
        headers: [String: String] = [:], into directory: URL, download: Download.Options = Download.Options(),
        options: RequestOptions = RequestOptions()
    ) async throws -> Download {
        let endpoint = Verb<EmptyResponse>(.get, target, values, query: query, headers: headers)
        return try await add(endpoint, into: directory, download: download, options: options)
    }

    /// Stops all transfers, keeps the received bytes, and closes the list. The next list of the directory resumes the
    /// unfinished downloads. Releasing the list does the same, but without a way to wait for it.
    public func shutdown() async {
        await list.close()
    }
}
