// SPDX-License-Identifier: MIT

/// The media type of a file guessed from its name, for parts and bodies without an explicit type.
///
/// A small table of types that apps upload. Unlike the systems' databases, it is the same on every platform.
package enum MIMEType {
    package static let unknown = "application/octet-stream"

    package static func guess(filename: String) -> String {
        guard let dot = filename.lastIndex(of: ".") else { return unknown }
        return table[String(filename[dot...].dropFirst()).asciiLowercased] ?? unknown
    }

    private static let table = [
        "aac": "audio/aac",
        "avif": "image/avif",
        "bmp": "image/bmp",
        "css": "text/css",
        "csv": "text/csv",
        "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "flac": "audio/flac",
        "gif": "image/gif",
        "gz": "application/gzip",
        "heic": "image/heic",
        "heif": "image/heif",
        "htm": "text/html",
        "html": "text/html",
        "ics": "text/calendar",
        "jpeg": "image/jpeg",
        "jpg": "image/jpeg",
        "js": "text/javascript",
        "json": "application/json",
        "m4a": "audio/mp4",
        "m4v": "video/mp4",
        "md": "text/markdown",
        "mov": "video/quicktime",
        "mp3": "audio/mpeg",
        "mp4": "video/mp4",
        "ogg": "audio/ogg",
        "pdf": "application/pdf",
        "png": "image/png",
        "ppt": "application/vnd.ms-powerpoint",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "rtf": "application/rtf",
        "svg": "image/svg+xml",
        "tar": "application/x-tar",
        "tif": "image/tiff",
        "tiff": "image/tiff",
        "txt": "text/plain",
        "vcf": "text/vcard",
        "wav": "audio/wav",
        "webm": "video/webm",
        "webp": "image/webp",
        "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "xml": "application/xml",
        "yaml": "application/yaml",
        "yml": "application/yaml",
        "zip": "application/zip",
    ]
}
