// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulseStorage

/// One resumable upload: a call of several requests, each through the whole chain.
///
/// `OPTIONS` may show whether the server supports the protocol. `POST` creates the upload, `HEAD` queries how much of
/// it has arrived, and `PATCH` sends the rest.
final class TusRun: Carrier {
    static let version = "1.0.0"
    static let maxAttemptsWithoutProgress = 5

    let resumption: UploadResumption
    let retryPolicy: RetryPolicy
    private let progress: (@Sendable (TransferProgress) -> Void)?
    private let decode: PulseClient.Decode

    init(
        _ resumption: UploadResumption, _ retryPolicy: RetryPolicy, progress: (@Sendable (TransferProgress) -> Void)?,
        decode: @escaping PulseClient.Decode
    ) {
        self.resumption = resumption
        self.retryPolicy = retryPolicy
        self.progress = progress
        self.decode = decode
    }

    /// Returns the response to the last part; for an empty file, to the creation of the upload.
    func response(to built: BuiltRequest, over route: CallRoute) async throws -> PulseResponse {
        if let fault = resumption.fault { throw PulseError.invalidRequest(reason: fault) }
        guard case .file(let url) = built.body else {
            throw PulseError.unsupported("a resumable upload needs a body that is a file")
        }
        let response: PulseResponse
        do {
            response = try await sent(url, built, route)
        } catch {
            throw PulseError(wrapping: error).naming(
                request: PulseError.text(of: built.urlRequest, maskedBy: route.call.environment.redaction), file: url)
        }
        try route.call.accept(response, decode, .successful)
        return response
    }

    private func sent(_ url: URL, _ built: BuiltRequest, _ route: CallRoute) async throws -> PulseResponse {
        let call = route.call
        let file = try await UploadedFile.at(url)
        let record = try await UploadRecord.open(
            url, to: built.storableURL, in: resumption.directory, clock: call.environment.clock)
        if let warning = record.warning { call.environment.warnOnce(warning) }
        let meter = UploadMeter(TransferMeter(call, progress))
        call.bodyMeter = meter
        var work = Work(run: self, built: built, route: route, record: record, meter: meter, file: file)
        let result: Result<PulseResponse, any Error>
        do {
            result = .success(try await work.response())
        } catch {
            result = .failure(error)
        }
        // The meter retains the call.
        call.bodyMeter = nil
        await meter.end()
        await record.close()
        return try result.get()
    }
}
