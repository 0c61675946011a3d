// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// A download as stored in the list.
struct StoredDownload: Codable, Sendable {
    var request: StoredRequest
    /// The absolute path of the file or directory.
    var path: String
    var isDirectory: Bool
    /// The path of the list when this was stored.
    var list: String
    var tag: String?
    /// The settings of the download.
    var digest: String?
    var contentKey: String
    var replacesFile: Bool
    var keepsPartial: Bool
    var maxAttemptsWithoutProgress: Int

    init(
        _ request: StoredRequest, _ target: DownloadRun.Target, _ options: Download.Options, contentKey: String,
        tag: String?, list: String
    ) {
        self.request = request
        switch target {
        case .file(let file): (path, isDirectory) = (file.standardizedFileURL.path, false)
        case .directory(let directory): (path, isDirectory) = (directory.standardizedFileURL.path, true)
        }
        self.list = list
        self.tag = tag
        digest = options.digest?.hex
        self.contentKey = contentKey
        replacesFile = options.replacesFile
        keepsPartial = options.keepsPartial
        maxAttemptsWithoutProgress = options.maxAttemptsWithoutProgress
    }

    var options: Download.Options {
        var options = Download.Options()
        options.digest = digest.map { .sha256($0) }
        options.contentKey = contentKey
        options.replacesFile = replacesFile
        options.keepsPartial = keepsPartial
        options.maxAttemptsWithoutProgress = maxAttemptsWithoutProgress
        return options
    }

    /// The target, for a list at that path. An app's container may have moved since, with its contents.
    func target(for list: String) -> DownloadRun.Target {
        let path = Self.moved(path, from: self.list, to: list)
        let url = URL(fileURLWithPath: path, isDirectory: isDirectory)
        return isDirectory ? .directory(url) : .file(url)
    }

    /// Identifies the partial file, for a list at that path.
    func place(in list: String) -> String {
        let path = Self.moved(path, from: self.list, to: list)
        return isDirectory ? "\(path)/\u{0}\(contentKey)" : path
    }

    /// Replaces the prefix that the path shares with the old list, if the new list has the same path after that prefix.
    static func moved(_ path: String, from old: String, to new: String) -> String {
        guard old != new else { return path }
        let (path, old, new) = (components(path), components(old), components(new))
        var shared = 0
        while shared < min(path.count, old.count), path[shared] == old[shared] { shared += 1 }
        let rest = old[shared...]
        // The list has not moved together with the target.
        guard shared > 0, new.count >= rest.count, Array(new.suffix(rest.count)) == Array(rest) else {
            return "/" + path.joined(separator: "/")
        }
        return "/" + (new.dropLast(rest.count) + path[shared...]).joined(separator: "/")
    }

    private static func components(_ path: String) -> [Substring] { path.split(separator: "/") }

    // MARK: Coding

    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        do { return try encoder.encode(self) } catch { throw PulseError.encodingFailed(underlying: error) }
    }

    /// Throws ``JournalFailure/damagedRecord``.
    init(decoding data: Data) throws {
        do { self = try JSONDecoder().decode(Self.self, from: data) } catch { throw JournalFailure.damagedRecord }
    }
}

/// The phase of a stored download, as far as it matters after a relaunch.
enum StoredPhase: Codable, Sendable {
    case underWay
    case paused
    /// - Parameter list: the path of the list at that time.
    case completed(path: String, list: String)
    case failed(StoredReason)

    var encoded: Data {
        // A value of strings and integers always encodes.
        (try? JSONEncoder().encode(self)) ?? Data()
    }

    /// Unreadable data counts as ``underWay``: the transfer then finds out what is stored.
    init(decoding data: Data) {
        self = (try? JSONDecoder().decode(Self.self, from: data)) ?? .underWay
    }
}
