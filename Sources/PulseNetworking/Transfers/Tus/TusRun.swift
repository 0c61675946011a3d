// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// One resumable upload: a call of several requests, each through the whole chain.
///
/// `OPTIONS` may tell whether the server has the protocol. `POST` creates the upload, `HEAD` asks how much of it has
/// come, and `PATCH` sends the rest.
final class TusRun: Sendable {
    static let version = "1.0.0"
    static let maximumFruitlessAttempts = 5

    let resumption: UploadResumption
    let retryPolicy: RetryPolicy
    private let progress: (@Sendable (TransferProgress) -> Void)?

    init(
        _ resumption: UploadResumption, _ retryPolicy: RetryPolicy, progress: (@Sendable (TransferProgress) -> Void)?
    ) {
        self.resumption = resumption
        self.retryPolicy = retryPolicy
        self.progress = progress
    }

    /// Sends a request of the call.
    typealias Send = (BuiltRequest) async throws -> PulseResponse

    /// Returns the response to the last part; of an empty file, to its creation.
    func response(to built: BuiltRequest, for call: Call, by send: @escaping Send) async throws -> PulseResponse {
        if let fault = resumption.fault { throw PulseError.invalidRequest(reason: fault) }
        guard case .file(let url) = built.body else {
            throw PulseError.unsupported("a resumable upload needs a body that is a file")
        }
        do {
            return try await sent(url, built, call, send)
        } catch {
            throw PulseError(wrapping: error).naming(
                request: PulseError.text(of: built.urlRequest, maskedBy: call.environment.redaction), file: url)
        }
    }

    private func sent(
        _ url: URL, _ built: BuiltRequest, _ call: Call, _ send: @escaping Send
    ) async throws -> PulseResponse {
        let file = try await UploadedFile.at(url)
        let record = try await UploadRecord.open(
            url, to: built.storableURL, in: resumption.directory, clock: call.environment.clock)
        if let warning = record.warning { call.environment.warnings.emit(warning, to: call.environment.events) }
        let meter = UploadMeter(TransferMeter(call, progress))
        call.bodyMeter = meter
        var work = Work(run: self, built: built, call: call, record: record, meter: meter, file: file, send: send)
        let result: Result<PulseResponse, any Error>
        do {
            result = .success(try await work.response())
        } catch {
            result = .failure(error)
        }
        // The meter has the call.
        call.bodyMeter = nil
        await meter.end()
        await record.close()
        return try result.get()
    }
}
