// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore

/// Creates the system's background session, which reports its events on the queue. Throws
/// ``PulseError/unsupported(_:)`` on platforms without one.
package typealias BackgroundSessionMaker =
    @Sendable (
        _ identifier: String, _ settings: BackgroundSettings, _ queue: DispatchQueue,
        _ handler: @escaping @Sendable (BackgroundEvent) -> Void
    ) throws -> any BackgroundSession

/// How the system schedules the transfers of a background session.
package struct BackgroundSettings: Sendable, Hashable {
    package var isDiscretionary = false
    /// The time limit of each task in seconds, counted from its creation.
    package var resourceTimeout: TimeInterval = 604_800

    package init() {}
}

#if canImport(FoundationNetworking)

package enum SystemBackgroundSession {
    package static let make: BackgroundSessionMaker = { _, _, _, _ in
        throw PulseError.unsupported("background transfers need a URLSession of Apple's platforms")
    }
}

#else

/// A background session of Apple's URL Loading System.
package final class SystemBackgroundSession: BackgroundSession {
    package static let make: BackgroundSessionMaker = { identifier, settings, queue, handler in
        SystemBackgroundSession(identifier, settings, queue, handler)
    }

    private let session: URLSession
    private let tasks: Locked<[Int: URLSessionTask]>
    private let queue: DispatchQueue

    private init(
        _ identifier: String, _ settings: BackgroundSettings, _ queue: DispatchQueue,
        _ handler: @escaping @Sendable (BackgroundEvent) -> Void
    ) {
        let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
        configuration.sessionSendsLaunchEvents = true
        configuration.isDiscretionary = settings.isDiscretionary
        configuration.timeoutIntervalForResource = URLSessionTransport.timeoutInterval(settings.resourceTimeout)
        configuration.keepNoState()
        let operations = OperationQueue()
        operations.underlyingQueue = queue
        operations.maxConcurrentOperationCount = 1
        tasks = Locked([:])
        self.queue = queue
        let delegate = BackgroundDelegate(handler, tasks)
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: operations)
    }

    package func findTasks(_ found: @escaping @Sendable ([BackgroundTask]) -> Void) {
        session.getAllTasks { [tasks, queue] all in
            tasks.withLock { tasks in
                for task in all { tasks[task.taskIdentifier] = task }
            }
            let known = all.map { BackgroundTask($0) }
            queue.async { found(known) }
        }
    }

    package func makeTask(_ work: BackgroundWork) -> Int {
        let task: URLSessionTask =
            switch work.kind {
            case .download(let request): session.downloadTask(with: request)
            case .resumedDownload(let data): session.downloadTask(withResumeData: data)
            case .upload(let request, let file): session.uploadTask(with: request, fromFile: file)
            }
        task.taskDescription = work.name
        task.earliestBeginDate = work.notBefore
        tasks.withLock { $0[task.taskIdentifier] = task }
        return task.taskIdentifier
    }

    package func resume(_ task: Int) {
        tasks.withLock { $0[task] }?.resume()
    }

    package func cancel(_ task: Int) {
        tasks.withLock { $0[task] }?.cancel()
    }

    package func stop(_ task: Int, _ stopped: @escaping @Sendable (_ resumeData: Data?) -> Void) {
        guard let download = tasks.withLock({ $0[task] }) as? URLSessionDownloadTask else { return stopped(nil) }
        download.cancel { [queue] data in
            queue.async { stopped(data) }
        }
    }
}

/// Turns delegate calls into events. It implements no challenge method: the system evaluates certificates itself.
private final class BackgroundDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
    private let handler: @Sendable (BackgroundEvent) -> Void
    private let tasks: Locked<[Int: URLSessionTask]>

    init(_ handler: @escaping @Sendable (BackgroundEvent) -> Void, _ tasks: Locked<[Int: URLSessionTask]>) {
        (self.handler, self.tasks) = (handler, tasks)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        handler(.file(BackgroundTask(downloadTask), location, downloadTask.head))
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        let progress = TransferProgress(counted: totalBytesWritten, expected: totalBytesExpectedToWrite)
        handler(.progress(BackgroundTask(downloadTask), progress))
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        let progress = TransferProgress(counted: totalBytesSent, expected: totalBytesExpectedToSend)
        handler(.progress(BackgroundTask(task), progress))
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        handler(.body(BackgroundTask(dataTask), data))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let failure = error.map { error in
            BackgroundFailure(
                error, hasResponse: task.response != nil,
                resumeData: (error as NSError).userInfo[NSURLSessionDownloadTaskResumeData] as? Data)
        }
        handler(.finished(BackgroundTask(task), task.head, failure))
        _ = tasks.withLock { $0.removeValue(forKey: task.taskIdentifier) }
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        handler(.allDelivered)
    }
}

extension BackgroundTask {
    fileprivate init(_ task: URLSessionTask) {
        self.init(identifier: task.taskIdentifier, name: task.taskDescription)
    }
}

extension URLSessionTask {
    fileprivate var head: BackgroundHead? {
        (response as? HTTPURLResponse).map { BackgroundHead($0) }
    }
}

#endif

extension TransferProgress {
    /// Converts the counts of `URLSession`, which are negative if unknown.
    package init(counted: Int64, expected: Int64) {
        self.init(completed: max(0, counted), total: expected > 0 ? max(expected, counted) : nil)
    }
}
