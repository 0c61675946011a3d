// SPDX-License-Identifier: MIT

import PulseCore

/// The part of a `URLSession` that background transfers need; its tasks outlive the process. Methods and closures are
/// called on its event queue.
package protocol BackgroundSession: AnyObject {
    /// Lists the session's tasks in the system, created by this process or an earlier one.
    func findTasks(_ found: @escaping @Sendable ([BackgroundTask]) -> Void)
    /// Creates a task that is not resumed yet, and returns its identifier.
    func makeTask(_ work: BackgroundWork) -> Int
    /// Resumes a task. Does nothing to a task that runs or is gone.
    func resume(_ task: Int)
    /// Cancels a task. Does nothing to a task that is gone.
    func cancel(_ task: Int)
    /// Cancels a download and passes the resume data for a later task; nil if there is none.
    func stop(_ task: Int, _ stopped: @escaping @Sendable (_ resumeData: Data?) -> Void)
}

/// A task of a background session.
package struct BackgroundTask: Sendable, Hashable {
    /// The system's identifier. A later task of the session may reuse it.
    package let identifier: Int
    /// The task description, set at creation.
    package let name: String?

    package init(identifier: Int, name: String?) {
        (self.identifier, self.name) = (identifier, name)
    }
}

/// The transfer that a task performs.
package struct BackgroundWork: Sendable {
    package enum Kind: Sendable {
        case download(URLRequest)
        case resumedDownload(Data)
        case upload(URLRequest, file: URL)
    }

    package let kind: Kind
    /// The text by which a later process recognizes the task.
    package let name: String
    /// The date before which the system sends nothing.
    package let notBefore: Date?

    package init(_ kind: Kind, name: String, notBefore: Date? = nil) {
        (self.kind, self.name, self.notBefore) = (kind, name, notBefore)
    }
}

/// An event of a background session. The events of a task arrive in order and end with ``finished(_:_:_:)``.
package enum BackgroundEvent: Sendable {
    case progress(BackgroundTask, TransferProgress)
    /// The downloaded file, which exists until the event handler returns.
    case file(BackgroundTask, URL, BackgroundHead?)
    /// A chunk of the response body of an upload.
    case body(BackgroundTask, Data)
    case finished(BackgroundTask, BackgroundHead?, BackgroundFailure?)
    /// The system has no more events for this launch.
    case allDelivered
}

/// A response head that can be stored on disk.
package struct BackgroundHead: Sendable, Equatable, Codable {
    package var status: Int
    /// The names and values of the header fields, in order.
    package var fields: [[String]]
    /// The scheme of the last redirect, with its colon: a whole URL may be signed.
    package var url: String?
    /// Whether the system has decoded a content coding.
    package var isDecoded: Bool

    package init(status: Int, fields: [[String]], url: String? = nil, isDecoded: Bool = false) {
        (self.status, self.fields, self.url, self.isDecoded) = (status, fields, url, isDecoded)
    }

    package init(_ response: HTTPURLResponse) {
        var headers = HTTPHeaders(httpResponse: response)
        let hasCoding = headers["Content-Encoding"] != nil
        headers.removeDecodedContentFields()
        headers.separateCookies()
        self.init(
            status: response.statusCode, fields: headers.map { [$0.name, $0.value] },
            url: response.url?.scheme.map { "\($0):" },
            isDecoded: hasCoding && headers["Content-Encoding"] == nil)
    }

    package var headers: HTTPHeaders {
        get { HTTPHeaders(fields.compactMap { $0.count == 2 ? HTTPHeaders.Field(name: $0[0], value: $0[1]) : nil }) }
        set { fields = newValue.map { [$0.name, $0.value] } }
    }
}

/// A task failure that can be stored on disk.
package struct BackgroundFailure: Sendable, Equatable {
    package let code: URLError.Code
    /// How far the request got.
    package let phase: PulseError.Phase
    /// The resume data of a download.
    package var resumeData: Data?

    package init(code: URLError.Code, phase: PulseError.Phase, resumeData: Data? = nil) {
        (self.code, self.phase, self.resumeData) = (code, phase, resumeData)
    }

    /// Maps an error of `URLSession`. Swiping an app away cancels all its tasks; the app sees such a task as a lost
    /// connection.
    package init(_ error: any Error, hasResponse: Bool, resumeData: Data? = nil) {
        // The system repeats requests by itself, and counts the bytes of the last one. What was handed over may have
        // been sent.
        let meaning = TransportFailure.meaning(of: error, hasSent: true, hasResponse: hasResponse)
        let failure = meaning as? TransportFailure
        self.init(
            code: failure?.code ?? .networkConnectionLost,
            phase: failure?.phase ?? (hasResponse ? .responseStarted : .maybeSent), resumeData: resumeData)
    }

    /// The failure of a task that the system no longer knows.
    package static let lost = BackgroundFailure(code: .networkConnectionLost, phase: .maybeSent)

    package var asTransportFailure: TransportFailure {
        TransportFailure(code: code, phase: phase)
    }
}

extension BackgroundFailure: Codable {
    private enum CodingKeys: String, CodingKey {
        case code, phase
    }

    /// The phases in order; their indices are stored on disk.
    private static let phases: [PulseError.Phase] = [.beforeSend, .maybeSent, .responseStarted]

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let phase = try values.decode(Int.self, forKey: .phase)
        // On Linux the initializer may fail.
        let code: URLError.Code? = URLError.Code(rawValue: try values.decode(Int.self, forKey: .code))
        self.init(
            code: code ?? .unknown,
            phase: Self.phases.indices.contains(phase) ? Self.phases[phase] : .maybeSent)
    }

    /// Omits the resume data, which is stored separately.
    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(code.rawValue, forKey: .code)
        try values.encode(Self.phases.firstIndex(of: phase) ?? 1, forKey: .phase)
    }
}
