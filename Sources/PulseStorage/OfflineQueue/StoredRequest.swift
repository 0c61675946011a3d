// SPDX-License-Identifier: MIT

package import PulseCore

/// A request as stored in a journal: as it was built, before plugins change it.
package struct StoredRequest: Codable, Sendable {
    var method: String
    var url: String
    var headers: [String: String]
    /// The names of default headers that were removed.
    var dropped: [String]?
    /// The body, unless it is in a separate file.
    var body: Data?
    /// The name of the body's file.
    var file: String?
    /// The value of the `Idempotency-Key` header.
    var key: String?
    /// Milliseconds since 1970.
    var enqueuedAt: Int64
    var account: String?
    var timeout: TimeInterval?
    var deadline: TimeInterval?
    var auth: String?
    /// The accepted statuses: first and last of each range.
    var statuses: [Int]?
    var route: String?
    var allowsExpensiveNetworkAccess: Bool?
    var allowsConstrainedNetworkAccess: Bool?

    // Short keys, since each record contains them.
    enum CodingKeys: String, CodingKey {
        case method = "m"
        case url = "u"
        case headers = "h"
        case dropped = "x"
        case body = "b"
        case file = "f"
        case key = "k"
        case enqueuedAt = "t"
        case account = "a"
        case timeout = "ti"
        case deadline = "d"
        case auth = "au"
        case statuses = "s"
        case route = "r"
        case allowsExpensiveNetworkAccess = "ex"
        case allowsConstrainedNetworkAccess = "co"
    }

    package init(_ draft: QueueDraft, body: Data?, file: String?, now: Date) {
        method = draft.request.httpMethod ?? "GET"
        url = draft.request.url?.absoluteString ?? ""
        headers = draft.request.allHTTPHeaderFields ?? [:]
        dropped = draft.droppedDefaults.isEmpty ? nil : draft.droppedDefaults
        self.body = body
        self.file = file
        key = draft.key
        enqueuedAt = now.milliseconds
        account = draft.account
        timeout = draft.options.timeout.flatMap { $0.isFinite ? $0 : nil }
        deadline = draft.options.deadline.flatMap { $0.isFinite ? $0 : nil }
        switch draft.options.auth {
        case .required: auth = "required"
        case .anonymous: auth = "anonymous"
        case .optional, nil: break
        }
        if let accepted = draft.options.acceptedStatuses, accepted != .successful {
            statuses = accepted.ranges.flatMap { [$0.lowerBound, $0.upperBound] }
        }
        route = draft.options.route
        allowsExpensiveNetworkAccess = draft.options.allowsExpensiveNetworkAccess
        allowsConstrainedNetworkAccess = draft.options.allowsConstrainedNetworkAccess
    }

    var options: RequestOptions {
        var options = RequestOptions()
        options.timeout = timeout
        options.deadline = deadline
        options.auth = auth == "required" ? .required : auth == "anonymous" ? .anonymous : nil
        options.route = route
        options.allowsExpensiveNetworkAccess = allowsExpensiveNetworkAccess
        options.allowsConstrainedNetworkAccess = allowsConstrainedNetworkAccess
        if let statuses {
            let pairs = stride(from: 0, to: statuses.count - 1, by: 2).map { (statuses[$0], statuses[$0 + 1]) }
            options.acceptedStatuses = RequestOptions.AcceptedStatuses(
                ranges: pairs.filter { $0 <= $1 }.map { $0...$1 })
        }
        return options
    }

    /// The replay of the request, with the body of its file if it has one. Throws ``JournalFailure/damagedRecord``.
    package func replay(_ id: UUID, tag: String?, body file: URL? = nil) throws -> QueuedSend {
        guard let url = URL(string: url) else { throw JournalFailure.damagedRecord }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.allHTTPHeaderFields = headers
        request.httpBody = body
        return QueuedSend(
            id: id, request: request, droppedDefaults: dropped ?? [], body: file.map { .file($0) } ?? .inRequest,
            options: options.with(\.tag, value: tag), key: key, account: account)
    }

    // MARK: Coding

    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        do {
            return try encoder.encode(self)
        } catch {
            throw PulseError.encodingFailed(underlying: error)
        }
    }

    init(decoding data: Data) throws {
        do {
            self = try JSONDecoder().decode(Self.self, from: data)
        } catch {
            throw JournalFailure.damagedRecord
        }
    }
}

/// Why an entry was given up, as stored in a journal.
package struct StoredReason: Codable, Sendable {
    var kind: String
    var status: Int?
    var message: String
    /// Milliseconds since 1970.
    var diedAt: Int64

    package init(_ error: PulseError, now: Date) {
        let summary = PulseError.Summary(error)
        (kind, status, message) = (summary.kind.rawValue, summary.statusCode, summary.message)
        diedAt = now.milliseconds
    }

    package var summary: PulseError.Summary {
        PulseError.Summary(kind: PulseError.Kind(rawValue: kind) ?? .custom, statusCode: status, message: message)
    }

    var encoded: Data {
        // A value of strings and integers always encodes.
        (try? JSONEncoder().encode(self)) ?? Data()
    }
}

extension Date {
    var milliseconds: Int64 {
        let value = timeIntervalSince1970 * 1000
        return value > -9e17 && value < 9e17 ? Int64(value) : value > 0 ? 900_000_000_000_000_000 : 0
    }

    init(milliseconds: Int64) {
        self.init(timeIntervalSince1970: TimeInterval(milliseconds) / 1000)
    }
}
