// SPDX-License-Identifier: MIT

import PulseCore

/// Serves the operations at a path with a test's closure.
struct OperationService: Sendable {
    let knowsHashes: Bool
    let clock: any PulseClock
    let respond: @Sendable (ReceivedOperation) async throws -> OperationReply
    private let documents = Locked<[String: String]>([:])

    init(
        knowsHashes: Bool, clock: any PulseClock,
        respond: @escaping @Sendable (ReceivedOperation) async throws -> OperationReply
    ) {
        (self.knowsHashes, self.clock, self.respond) = (knowsHashes, clock, respond)
    }

    /// The document for a hash; a given document is stored under the hash first.
    func document(_ hash: String, _ document: String?) throws -> String {
        guard knowsHashes else {
            throw ReceivedOperation.Fault(
                message: "PersistedQueryNotSupported", code: "PERSISTED_QUERY_NOT_SUPPORTED", status: 200)
        }
        let known = documents.withLock { documents in
            if let document { documents[hash] = document }
            return documents[hash]
        }
        guard let known else {
            throw ReceivedOperation.Fault(
                message: "PersistedQueryNotFound", code: "PERSISTED_QUERY_NOT_FOUND", status: 200)
        }
        return known
    }

    /// Responds over HTTP.
    func response(to request: RecordedRequest) async throws -> MockServer.Response {
        let accepts = (request.headers["Accept"] ?? "").contains("application/graphql-response+json")
        let type = accepts ? "application/graphql-response+json" : "application/json"
        do {
            let operation = try ReceivedOperation(request, document: document)
            guard request.method == .post || operation.kind == .query else {
                throw ReceivedOperation.Fault(message: "a \(operation.kind) by GET", status: 405)
            }
            return .data(try await respond(operation).body, contentType: type)
        } catch {
            let errors = OperationReply(errors: Self.errors(of: error))
            let status = (error as? ReceivedOperation.Fault)?.status ?? 200
            return .data(try errors.body, contentType: type, status: status)
        }
    }

    /// The errors of an operation that failed with this error.
    static func errors(of error: any Error) -> [GraphQLError] {
        switch error {
        case let error as GraphQLError: [error]
        case let fault as ReceivedOperation.Fault: [fault.error]
        default: [GraphQLError(message: "\(error)")]
        }
    }
}
