// SPDX-License-Identifier: MIT

import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@GET("/users/{id}")` and its siblings: an extension with the method and the path.
public struct EndpointMacro: ExtensionMacro {
    public static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        guard let declaration = declaration.as(StructDeclSyntax.self) else {
            throw Problem.notAStruct.error(at: node)
        }
        let literal = try literal(of: node)
        let properties = Property.all(of: declaration)
        let names = try placeholders(in: literal, properties, of: declaration)
        let method = node.attributeName.trimmedDescription.split(separator: ".").last?.lowercased() ?? "get"
        let access = declaration.modifiers.first { ["public", "package"].contains($0.name.text) }
        let prefix = access.map { $0.name.text + " " } ?? ""
        let conformance = protocols.isEmpty ? "" : ": " + protocols.map(\.trimmedDescription).joined(separator: ", ")
        let values = names.map { name in "\"\(name)\": \(properties.first { $0.name == name }?.token.text ?? name)" }
        let text = literal.trimmedDescription
        let path =
            names.isEmpty
            ? text : "get throws { try PathTemplate(\(text)).expand([\(values.joined(separator: ", "))]) }"
        let source: DeclSyntax = """
            extension \(type.trimmed)\(raw: conformance) {
                \(raw: prefix)var method: HTTPMethod { .\(raw: method) }
                \(raw: prefix)var path: String { \(raw: path) }
            }
            """
        return source.as(ExtensionDeclSyntax.self).map { [$0] } ?? []
    }

    private static func literal(of node: AttributeSyntax) throws -> StringLiteralExprSyntax {
        guard case .argumentList(let arguments) = node.arguments,
            let literal = arguments.first?.expression.as(StringLiteralExprSyntax.self),
            literal.representedLiteralValue != nil
        else { throw Problem.notALiteral.error(at: node) }
        return literal
    }

    /// The placeholders. Throws every mismatch between them and the properties at once.
    private static func placeholders(
        in literal: StringLiteralExprSyntax, _ properties: [Property], of declaration: StructDeclSyntax
    ) throws -> [String] {
        let names: [String]
        do {
            names = try Template(literal.representedLiteralValue ?? "").names
        } catch {
            throw Problem.malformed(error.reason).error(at: literal)
        }
        let unknown = names.filter { name in !properties.contains { $0.name == name } }
        let unused = properties.filter { property in
            property.isStored && !names.contains(property.name) && !requirements.contains(property.name)
                && !property.isUsed(in: declaration)
        }
        let diagnostics =
            unknown.map { Problem.unknown($0).diagnostic(at: literal) }
            + unused.map { Problem.unused($0.name).diagnostic(at: $0.token) }
        guard diagnostics.isEmpty else { throw DiagnosticsError(diagnostics: diagnostics) }
        return names
    }

    /// The properties that the client reads itself.
    private static let requirements: Set = [
        "body", "headers", "isQueueableWhenOffline", "options", "plugins", "queryItems", "queryParameters",
        "timeoutInterval",
    ]
}
