// SPDX-License-Identifier: MIT

import SwiftSyntax

/// A property of a struct's instances.
struct Property {
    let token: TokenSyntax
    let isStored: Bool

    /// The name without backticks.
    var name: String { Self.name(of: token) }

    static func all(of declaration: StructDeclSyntax) -> [Property] {
        declaration.memberBlock.members
            .compactMap { $0.decl.as(VariableDeclSyntax.self) }
            .filter { variable in !variable.modifiers.contains { $0.name.text == "static" } }
            .flatMap { variable in
                variable.bindings.compactMap { binding in
                    binding.pattern.as(IdentifierPatternSyntax.self).map {
                        Property(token: $0.identifier, isStored: binding.isStored)
                    }
                }
            }
    }

    /// Whether a member other than an initializer names the property, as a `body` that encodes it does.
    func isUsed(in declaration: StructDeclSyntax) -> Bool {
        declaration.memberBlock.members.contains { member in
            !member.decl.is(InitializerDeclSyntax.self)
                && member.tokens(viewMode: .sourceAccurate).contains { other in
                    other.id != token.id && Self.name(of: other) == name
                }
        }
    }

    private static func name(of token: TokenSyntax) -> String {
        token.text.filter { $0 != "`" }
    }
}

extension PatternBindingSyntax {
    /// Whether the property has a value of its own: it has no accessors, or observers only.
    fileprivate var isStored: Bool {
        switch accessorBlock?.accessors {
        case nil: true
        case .getter: false
        case .accessors(let accessors):
            accessors.allSatisfy { ["willSet", "didSet"].contains($0.accessorSpecifier.text) }
        }
    }
}
