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
        let template = try template(of: literal, properties, of: declaration)
        let method = node.attributeName.trimmedDescription.split(separator: ".").last?.lowercased() ?? "get"
        let access = declaration.modifiers.first { ["public", "package"].contains($0.name.text) }
        let prefix = access.map { $0.name.text + " " } ?? ""
        let conformance = protocols.isEmpty ? "" : ": " + protocols.map(\.trimmedDescription).joined(separator: ", ")
        let path = template.literal { name in properties.first { $0.name == name }?.token.text ?? name }
        let source: DeclSyntax = """
            extension \(type.trimmed)\(raw: conformance) {
                \(raw: prefix)var method: HTTPMethod { .\(raw: method) }
                \(raw: prefix)var path: PathText { \(raw: path) }
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

    /// The path with its placeholders. Throws every mismatch between them and the properties at once.
    private static func template(
        of literal: StringLiteralExprSyntax, _ properties: [Property], of declaration: StructDeclSyntax
    ) throws -> Template {
        let template: Template
        do {
            template = try Template(literal.representedLiteralValue ?? "")
        } catch {
            throw Problem.malformed(error.reason).error(at: literal)
        }
        let names = template.names
        let unknown = names.filter { name in !properties.contains { $0.name == name } }
        let unused = properties.filter { property in
            property.isStored && !names.contains(property.name) && !requirements.contains(property.name)
                && !property.isUsed(in: declaration)
        }
        let diagnostics =
            unknown.map { Problem.unknown($0).diagnostic(at: literal) }
            + unused.map { Problem.unused($0.name).diagnostic(at: $0.token) }
        guard diagnostics.isEmpty else { throw DiagnosticsError(diagnostics: diagnostics) }
        return template
    }

    /// The properties that the client reads itself.
    private static let requirements: Set = [
        "body", "headers", "isQueueableWhenOffline", "options", "plugins", "queryItems", "queryParameters",
        "timeoutInterval",
    ]
}
