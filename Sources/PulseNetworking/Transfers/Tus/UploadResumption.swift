// SPDX-License-Identifier: MIT

public import PulseCore

/// Resumes interrupted uploads, also after the end of the process, with the tus protocol 1.0.0
/// (https://tus.io/protocols/resumable-upload).
///
/// ```swift
/// let uploads = UploadResumption(directory: directory, metadata: ["filename": "film.mp4"])
/// try await client.upload(file, to: "/videos/1", resuming: uploads)
/// ```
public struct UploadResumption: Sendable {
    /// The directory that stores the URLs of unfinished uploads, in files that only their user can read. It is created
    /// if it is missing.
    public let directory: URL
    /// Metadata of the file for the server, such as `filename`. Keys are ASCII without spaces and commas.
    public let metadata: [String: String]

    /// Creates the settings.
    public init(directory: URL, metadata: [String: String] = [:]) {
        self.directory = directory
        self.metadata = metadata
    }

    /// Describes the first invalid setting; nil if all are valid.
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
