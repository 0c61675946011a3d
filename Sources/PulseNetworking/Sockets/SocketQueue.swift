// SPDX-License-Identifier: MIT

/// A first-in, first-out queue that releases removed elements at once, since they may be large.
struct SocketQueue<Element: Sendable>: Sendable {
    private var elements: [Element?] = []
    /// The index of the first element; those before it are removed.
    private var head = 0

    var count: Int { elements.count - head }
    var isEmpty: Bool { head == elements.count }
    var all: [Element] { elements[head...].compactMap { $0 } }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    /// Puts elements before all others.
    mutating func prepend(_ first: [Element]) {
        if !first.isEmpty { self = SocketQueue(first + all) }
    }

    mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        let first = elements[head].take()
        head += 1
        if head == elements.count {
            elements.removeAll(keepingCapacity: head <= 64)
            head = 0
        } else if head >= 64, head > elements.count / 2 {
            elements.removeFirst(head)
            head = 0
        }
        return first
    }

    /// Removes the first element for which the closure is true.
    mutating func remove(where isMeant: (Element) -> Bool) -> Element? {
        guard let index = elements[head...].firstIndex(where: { $0.map(isMeant) ?? false }) else { return nil }
        return elements.remove(at: index)
    }

    /// Removes all elements, and returns them in order.
    mutating func removeAll() -> [Element] {
        defer { self = SocketQueue() }
        return all
    }

    init(_ elements: [Element] = []) {
        self.elements = elements
    }
}
