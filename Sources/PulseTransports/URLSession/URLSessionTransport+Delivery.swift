// SPDX-License-Identifier: MIT

import PulseCore

extension URLSessionTransport {
    /// Streams a 2xx body; the stream retains the session and the slot.
    func stream(
        _ request: TransportRequest, in session: SessionLease, holding slot: ConnectionSlots.Slot
    ) async throws -> PulseResponse {
        let (exchanges, task) = (exchanges, task(for: request, in: session.session))
        let queue = session.session.delegateQueue
        let pipe = BytePipe {
            queue.addOperation { exchanges.flush(task) }
        }
        // With a request body, progress is that of the upload.
        let hasBody = request.body.isPresent
        let timings = Locked<PulseResponse.Timings?>(nil)
        var response = try await exchanges.run(
            task, for: request, session.credentials, session.proxy, into: .pipe(pipe), timings: timings,
            progress: hasBody ? request.progress : nil)
        guard (200..<300).contains(response.statusCode) else { return response }
        let stream = ByteStream {
            try await pipe.read()
        } cancel: {
            pipe.finish(CancellationError())
            exchanges.cancel(task)
        }
        stream.timingsAtEnd = { timings.withLock { $0 } }
        stream.onEnd { _ in
            withExtendedLifetime((session, slot)) {}
        }
        try await response.deliver(stream, for: request)
        return response
    }

    /// Lets Foundation write a temporary file, and moves a 2xx body to its target.
    func download(
        _ request: TransportRequest, to file: URL, from offset: Int64, in session: SessionLease
    ) async throws -> PulseResponse {
        let task = session.session.downloadTask(with: prepared(request))
        let last = Locked<TransferProgress?>(nil)
        let progress = request.progress.map { progress in
            { @Sendable (done: TransferProgress) in
                // Foundation may report bytes before the response that determines their offset.
                guard let response = task.response as? HTTPURLResponse else { return }
                let start = response.statusCode == 206 ? offset : 0
                let step = TransferProgress(completed: done.completed, total: done.total, behind: start)
                last.withLock { $0 = step }
                progress(step)
            }
        }
        var response = try await exchanges.run(
            task, for: request, session.credentials, session.proxy, into: .download, progress: progress)
        let temporary = response.file
        defer { temporary.map { try? FileManager.default.removeItem(at: $0) } }
        var source: FileSource?
        if let temporary { source = try await FileSource(temporary) }
        guard (200..<300).contains(response.statusCode) else {
            response.data = try await source?.read(upTo: PulseResponse.errorBodyLimit) ?? Data()
            if response.isTruncated || source.map({ $0.length > PulseResponse.errorBodyLimit }) ?? true {
                response.isTruncated = true
            }
            return response
        }
        // Foundation creates no file for an empty body.
        guard source != nil || response.bodyLength ?? 0 == 0 else {
            throw TransportFailure(code: .cannotWriteToFile, phase: .responseStarted)
        }
        let start = try response.fileOffset(asked: offset)
        let length = source?.length ?? 0
        let whole = TransferProgress(completed: length, total: length, behind: start)
        if last.withLock({ $0 }) != whole { request.progress?(whole) }
        let body = ByteStream(next: { [source] in try await source?.read(upTo: 256 << 10) })
        try await FileSink(file, offset: start).take(body, total: nil, nil)
        response.body = .file(file)
        return response
    }
}
