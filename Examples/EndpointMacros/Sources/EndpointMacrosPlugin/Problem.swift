// SPDX-License-Identifier: MIT

import SwiftDiagnostics
import SwiftSyntax

/// What is wrong with a declaration. Each problem is an error of the compiler.
enum Problem: DiagnosticMessage {
    case notAStruct
    case notALiteral
    case malformed(String)
    case unknown(String)
    case unused(String)

    var message: String {
        switch self {
        case .notAStruct: "only a struct can be an endpoint"
        case .notALiteral: "the path must be a string literal without interpolations"
        case .malformed(let reason): "the path is malformed: \(reason)"
        case .unknown(let name): "no property has the name of the placeholder '{\(name)}'"
        case .unused(let name): "the path has no placeholder '{\(name)}', and no other member uses '\(name)'"
        }
    }

    var severity: DiagnosticSeverity { .error }

    var diagnosticID: MessageID { MessageID(domain: "EndpointMacros", id: message) }

    func diagnostic(at node: some SyntaxProtocol) -> Diagnostic {
        Diagnostic(node: Syntax(node), message: self)
    }

    func error(at node: some SyntaxProtocol) -> DiagnosticsError {
        DiagnosticsError(diagnostics: [diagnostic(at: node)])
    }
}
