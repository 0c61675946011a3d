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
    var maximumFruitlessAttempts: Int

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
        maximumFruitlessAttempts = options.maximumFruitlessAttempts
    }

    var options: Download.Options {
        var options = Download.Options()
        options.digest = digest.map { .sha256($0) }
        options.contentKey = contentKey
        options.replacesFile = replacesFile
        options.keepsPartial = keepsPartial
        options.maximumFruitlessAttempts = maximumFruitlessAttempts
        return options
    }

    /// The target as a list at that path sees it. An app's container may have moved since, with all that is in it.
    func target(for list: String) -> DownloadRun.Target {
        let path = Self.moved(path, from: self.list, to: list)
        let url = URL(fileURLWithPath: path, isDirectory: isDirectory)
        return isDirectory ? .directory(url) : .file(url)
    }

    /// Names the partial file, as a list at that path sees it.
    func place(in list: String) -> String {
        let path = Self.moved(path, from: self.list, to: list)
        return isDirectory ? "\(path)/\u{0}\(contentKey)" : path
    }

    /// The path with the part that it shares with the old place replaced, if the rest of the old place is where it was.
    static func moved(_ path: String, from old: String, to new: String) -> String {
        guard old != new else { return path }
        let (path, old, new) = (components(path), components(old), components(new))
        var shared = 0
        while shared < min(path.count, old.count), path[shared] == old[shared] { shared += 1 }
        let rest = old[shared...]
        // The list has not moved along with what it shares with the target.
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

/// What a stored download does, as far as a relaunch is concerned.
enum StoredPhase: Codable, Sendable {
    case underWay
    case paused
    /// - Parameter list: the path of the list then.
    case completed(path: String, list: String)
    case failed(StoredReason)

    var encoded: Data {
        // A value of strings and integers always encodes.
        (try? JSONEncoder().encode(self)) ?? Data()
    }

    /// Whatever cannot be read was under way: its transfer finds out what there is.
    init(decoding data: Data) {
        self = (try? JSONDecoder().decode(Self.self, from: data)) ?? .underWay
    }
}
