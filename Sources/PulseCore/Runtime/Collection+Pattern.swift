// SPDX-License-Identifier: MIT

extension RandomAccessCollection where Element: Equatable, Index == Int {
    /// The first index of the pattern, by the Knuth-Morris-Pratt algorithm: each element is read at most twice. The
    /// pattern must not be empty.
    ///
    /// For `Data`, Foundation's `range(of:)` copies all bytes before it searches on Linux: a loop over the rest of a
    /// text would take quadratic time.
    package func firstIndex(ofPattern pattern: [Element]) -> Int? {
        var borders = [0]
        for element in pattern.dropFirst() {
            var length = borders[borders.count - 1]
            while length > 0, pattern[length] != element { length = borders[length - 1] }
            borders.append(pattern[length] == element ? length + 1 : 0)
        }
        var matched = 0
        for index in indices {
            StepCount.add()
            while matched > 0, matched == pattern.count || pattern[matched] != self[index] {
                StepCount.add()
                matched = borders[matched - 1]
            }
            if pattern[matched] == self[index] { matched += 1 }
            if matched == pattern.count { return index + 1 - pattern.count }
        }
        return nil
    }
}
