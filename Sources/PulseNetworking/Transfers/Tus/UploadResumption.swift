// SPDX-License-Identifier: MIT

public import PulseCore

/// How an upload goes on after it was interrupted, also by the end of the process: with the tus protocol 1.0.0
/// (https://tus.io/protocols/resumable-upload).
public struct UploadResumption: Sendable {
    /// Where the URLs of unfinished uploads are kept, in files that only their user can read. It is created if it is
    /// missing.
    public let directory: URL
    /// What the server is told of the file, such as `filename`. Keys are ASCII without spaces and commas.
    public let metadata: [String: String]

    /// Creates the settings.
    public init(directory: URL, metadata: [String: String] = [:]) {
        self.directory = directory
        self.metadata = metadata
    }

    /// The fault in the settings, or nil.
    var fault: String? {
        guard directory.isFileURL else { return "the directory of unfinished uploads is no file URL" }
        let isValid = metadata.keys.allSatisfy { key in
            !key.isEmpty && key.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ",") }
        }
        return isValid ? nil : "a key of the metadata is empty, or has a space, a comma or other than ASCII"
    }

    /// The value of `Upload-Metadata`; nil without metadata.
    var field: String? {
        guard !metadata.isEmpty else { return nil }
        return metadata.sorted { $0.key < $1.key }
            .map { key, value in value.isEmpty ? key : "\(key) \(Data(value.utf8).base64EncodedString())" }
            .joined(separator: ",")
    }
}
