// SPDX-License-Identifier: MIT

public import PulseCore

/// A file that is sent in place of an operation's variables (GraphQL multipart request specification).
///
/// ```swift
/// var uploads: [GraphQLUpload] {  // of an operation with the variable $file
///     [GraphQLUpload("file", data: portrait, filename: "portrait.png")]
/// }
/// ```
///
/// These variables must be null; the server replaces them with the file. A variable is named by its path:
/// `input.avatar`, or `files.0` for the first element of a list.
public struct GraphQLUpload: Sendable {
    let variables: [String]
    let part: @Sendable (_ name: String) -> MultipartFormData.Part

    /// Creates an upload of bytes. A nil `mimeType` is guessed from the file name.
    public init(_ variables: String..., data: Data, filename: String, mimeType: String? = nil) {
        self.variables = variables
        part = { MultipartFormData.Part(name: $0, data: data, filename: filename, mimeType: mimeType) }
    }

    /// Creates an upload of a file, which is read while it is sent. It is sent under its own name unless `filename` is
    /// given. A nil `mimeType` is guessed from the name.
    public init(_ variables: String..., file: URL, filename: String? = nil, mimeType: String? = nil) {
        self.variables = variables
        part = { MultipartFormData.Part(name: $0, file: file, filename: filename, mimeType: mimeType) }
    }
}
