// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

@testable import PulsePlugins

// Ranges as sets of offsets.
extension ReferencePolicy {
    // MARK: RFC 9110, sections 12.4.2 and 12.5.4

    /// "a relative weight … in the range 0 through 1", "the default weight is 1"; names in any case, in any order.
    static func preferences(_ text: String) -> String {
        var members = [""]
        var isQuoted = false
        for character in text {
            if character == "\"" { isQuoted.toggle() }
            if character == ",", !isQuoted { members.append("") } else { members[members.count - 1].append(character) }
        }
        members = members.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }.map { member in
            // Own rule: quoted text is compared verbatim.
            if member.contains("\"") { return member }
            var parts = member.components(separatedBy: ";").map { $0.trimmingCharacters(in: .whitespaces) }
            parts[0] = parts[0].lowercased()
            let weight = parts.count > 1 ? parts[parts.count - 1].lowercased() : ""
            if weight.range(of: "^q=(0(\\.[0-9]{0,3})?|1(\\.0{0,3})?)$", options: .regularExpression) != nil {
                parts.removeLast()
                let thousandths = Int(((Double(weight.dropFirst(2)) ?? 0) * 1_000).rounded())
                if thousandths < 1_000 { parts.append("q=\(thousandths)") }
            }
            return parts.joined(separator: ";")
        }
        return Array(Set(members)).sorted().joined(separator: ",")
    }

    // MARK: RFC 9110, section 14.1.2: Range

    enum Asked: Equatable {
        case everything
        /// Several ranges, or another unit.
        case other
        case from(Double, to: Double)
        case last(Double)
    }

    var asked: Asked {
        guard let text = field("range") else { return .everything }
        guard let equals = text.firstIndex(of: "=") else { return .everything }
        if text[..<equals].lowercased() != "bytes" { return .other }
        var ranges: [Asked] = []
        for member in text[text.index(after: equals)...].components(separatedBy: ",") {
            let member = member.trimmingCharacters(in: .whitespaces)
            if member.isEmpty { continue }
            let ends = member.components(separatedBy: "-")
            // "A int-range is invalid if the last-pos value is present and less than first-pos."
            guard ends.count == 2, ends.allSatisfy({ $0.allSatisfy(\.isNumber) }), ends != ["", ""] else {
                return .everything
            }
            let (first, last) = (Double(ends[0]), Double(ends[1]))
            if let first, let last, last < first { return .everything }
            ranges.append(first.map { .from($0, to: last ?? .infinity) } ?? .last(last ?? 0))
        }
        return ranges.isEmpty ? .everything : ranges.count > 1 ? .other : ranges[0]
    }

    private func offsets(in length: Int) -> [Int] {
        switch asked {
        case .everything, .other: Array(0..<length)
        case .from(let first, let last): (0..<length).filter { Double($0) >= first && Double($0) <= last }
        case .last(let count): (0..<length).filter { Double(length - $0) <= count }
        }
    }

    // MARK: The form of a stored response

    func form(of head: CachedResponse.Head, bodyLength: Int) -> CacheForm? {
        let ifNothing: CacheForm? = head.parts == nil ? .whole : nil
        if head.statusCode != 200, head.parts == nil { return .whole }
        if hasOwnConditions, !wants(head) { return .notModified }
        guard asked != .everything, isSame(head) else { return ifNothing }
        let held = Set(head.parts?.ranges.joined().map { $0 } ?? Array(0..<bodyLength))
        guard let length = head.parts == nil ? bodyLength : head.parts?.length else {
            guard case .from(let first, let last) = asked, last < 1_000 else { return nil }
            let offsets = Array(Int(first)...Int(last))
            return held.isSuperset(of: offsets)
                ? .part(ContentRange(range: offsets[0]..<(Int(last) + 1), length: nil)) : nil
        }
        let wanted = offsets(in: length)
        guard let first = wanted.first, let last = wanted.last else {
            if length == 0, case .last(1...) = asked { return .whole }
            return .unsatisfiable(length: length)
        }
        return held.isSuperset(of: wanted) ? .part(ContentRange(range: first..<(last + 1), length: length)) : nil
    }

    // MARK: RFC 9110, section 13.1: conditions

    var hasOwnConditions: Bool { field("if-none-match") != nil || field("if-modified-since") != nil }

    var ownTags: [String] {
        (field("if-none-match") ?? "").components(separatedBy: ",").compactMap { Self.tag(["ETag": $0]) }
    }

    private func wants(_ head: CachedResponse.Head) -> Bool {
        if let tags = field("if-none-match") {
            if tags == "*" { return false }
            func opaque(_ tag: String) -> String { tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag }
            guard let own = Self.tag(head.headers) else { return true }
            return !ownTags.contains { opaque($0) == opaque(own) }
        }
        guard let since = HTTPDate.parse(field("if-modified-since") ?? "", now: head.responseTime) else { return true }
        let changed = HTTPDate.parse(head.headers["last-modified"] ?? "", now: head.responseTime)
        return changed ?? Self.date(head) > since
    }

    /// "A valid entity-tag can be distinguished from a valid HTTP-date by examining the first three characters for a
    /// DQUOTE." The comparison is strong.
    private func isSame(_ head: CachedResponse.Head) -> Bool {
        guard let condition = field("if-range") else { return true }
        if let tag = Self.tag(["ETag": condition]) { return !tag.hasPrefix("W/") && tag == Self.tag(head.headers) }
        guard let date = HTTPDate.parse(condition, now: head.responseTime), isOldEnough(head) else { return false }
        return HTTPDate.parse(head.headers["last-modified"] ?? "", now: head.responseTime) == date
    }

    /// Own rule: a minute, as in RFC 7232, section 2.2.2.
    private func isOldEnough(_ head: CachedResponse.Head) -> Bool {
        guard let changed = HTTPDate.parse(head.headers["last-modified"] ?? "", now: head.responseTime),
            let date = HTTPDate.parse(head.headers["date"] ?? "", now: head.responseTime)
        else { return false }
        return date.timeIntervalSince(changed) >= 60
    }

    private func strong(_ head: CachedResponse.Head) -> String? {
        if head.headers["etag"] != nil {
            guard let tag = Self.tag(head.headers), !tag.hasPrefix("W/") else { return nil }
            return tag
        }
        return isOldEnough(head) ? head.headers["last-modified"] : nil
    }

    // MARK: RFC 9111, section 3.4: parts

    func rest(_ index: Int) -> CacheRest? {
        let head = stored[index]
        guard asked == .everything, !hasOwnConditions, let parts = head.parts, let validator = strong(head)
        else { return nil }
        let held = Set(parts.ranges.joined())
        let missing = (0..<(parts.length ?? 1_000)).filter { !held.contains($0) }
        let (start, end) = (missing[0], parts.length == nil ? nil : missing[missing.count - 1] + 1)
        // A range of everything is not worth a range request.
        if start == 0, end == parts.length { return nil }
        return CacheRest(index: index, start: start, end: end, validator: validator)
    }

    private func range(_ response: OriginResponse) -> ContentRange? {
        guard let text = response.headers["content-range"], text.hasPrefix("bytes ") else { return nil }
        let numbers = text.dropFirst(6).components(separatedBy: CharacterSet(charactersIn: "-/"))
        guard numbers.count == 3, let first = Int(numbers[0]), let last = Int(numbers[1]),
            numbers[2] == "*" || Int(numbers[2]) ?? 0 > last
        else { return nil }
        if let count = response.bodyLength, count != last + 1 - first { return nil }
        return ContentRange(range: first..<(last + 1), length: Int(numbers[2]))
    }

    private func partHead(_ headers: HTTPHeaders, _ response: OriginResponse, _ range: ContentRange) -> CachedResponse
        .Head?
    {
        guard let fields = selecting(headers) else { return nil }
        var stored = headers
        for name in ["Content-Range", "Content-Length", "Content-Digest", "Content-MD5"] { stored[name] = nil }
        var head = CachedResponse.Head(
            statusCode: 206, headers: stored, requestTime: response.requestTime, responseTime: response.responseTime,
            selectingFields: fields, parts: CachedResponse.Parts(ranges: [range.range], length: range.length))
        if let length = range.length, range.range == 0..<length {
            (head.statusCode, head.parts) = (200, nil)
            head.headers["Content-Length"] = "\(length)"
        }
        return head
    }

    func part(_ headers: HTTPHeaders, _ response: OriginResponse) -> CacheUpdate {
        guard asked != .everything, let range = range(response), let head = partHead(headers, response, range),
            !Self.has("no-store", requestDirectives)
        else { return .nothing }
        if isStorable(status: 206, response.headers, isPart: true) { return .store(head) }
        guard let selected else { return .nothing }
        let known = stored[selected]
        if known.statusCode != 200, known.parts == nil { return .remove }
        if let old = known.parts?.length, let new = head.parts?.length, old != new { return .remove }
        func opaque(_ tag: String) -> String { tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag }
        if let old = Self.tag(known.headers), let new = Self.tag(headers) {
            return opaque(old) == opaque(new) ? .nothing : .remove
        }
        if let old = known.headers["last-modified"], let new = headers["last-modified"], old != new { return .remove }
        return .nothing
    }

    /// "combined … if they all have the same strong validator".
    func completion(_ headers: HTTPHeaders, _ response: OriginResponse, _ rest: CacheRest) -> CacheUpdate? {
        let known = stored[rest.index]
        guard response.statusCode == 206, let range = range(response), let length = range.length,
            let part = partHead(headers, response, range), strong(part) == rest.validator,
            known.parts?.length ?? length == length, range.range == rest.start..<(rest.end ?? length),
            let held = known.parts?.ranges.joined(), Set(held).union(range.range) == Set(0..<length)
        else { return nil }
        var head = known
        head.headers = Self.freshened(known.headers, by: part.headers)
        head.headers["Content-Length"] = "\(length)"
        (head.statusCode, head.parts) = (200, nil)
        (head.requestTime, head.responseTime) = (response.requestTime, response.responseTime)
        if response.requestTime < known.requestTime {
            head.headers = known.headers
            head.headers["Content-Length"] = "\(length)"
            (head.requestTime, head.responseTime) = (known.requestTime, known.responseTime)
        }
        let fields = selecting(head.headers)
        if let fields { head.selectingFields = fields }
        return .complete(
            rest.index, head,
            mayStore: fields != nil && !Self.has("no-store", requestDirectives)
                && isStorable(status: 200, head.headers))
    }
}
